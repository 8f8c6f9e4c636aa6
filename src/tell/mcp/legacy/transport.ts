/**
 * The transport of one request of an older client. The SDK's transport reads and writes HTTP; this one adds what the SDK keeps in
 * the memory of one process: the start of the session is repeated to the server from its row, and questions get ids under which
 * any process can find them.
 */
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
  RequestId,
  Transport,
  TransportSendOptions,
} from '@modelcontextprotocol/server'
import type { Answer, SessionRow } from './sessions.ts'

/** The id of the repeated start; its response goes nowhere. */
const REPLAY_ID = 'repeated initialize'

export interface Questions {
  ask(): Promise<string>
  answerOf(id: string, signal: AbortSignal): Promise<Answer>
}

export class SessionTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  readonly #inner: Transport
  readonly #questions: Questions
  readonly #closed = new AbortController()
  readonly #replayed = Promise.withResolvers<void>()
  /** Ids of open questions, by the ids that the server gave them. */
  readonly #asked = new Map<RequestId, string>()

  constructor(inner: Transport, questions: Questions) {
    this.#inner = inner
    this.#questions = questions
  }

  start(): Promise<void> {
    this.#inner.onmessage = (message, extra) => this.onmessage?.(message, extra)
    this.#inner.onerror = (error) => this.onerror?.(error)
    this.#inner.onclose = () => {
      this.#closed.abort(new Error('the connection has ended'))
      this.onclose?.()
    }
    return this.#inner.start()
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.#inner.setSupportedProtocolVersions?.(versions)
  }

  /** Tells the server what the client declared when the session started. Call it after the server is connected. */
  async replay({ protocolVersion, capabilities }: SessionRow): Promise<void> {
    const clientInfo = { name: 'client', version: '0' }
    const params = { protocolVersion, capabilities, clientInfo }
    this.onmessage?.({ jsonrpc: '2.0', id: REPLAY_ID, method: 'initialize', params } as JSONRPCRequest)
    await this.#replayed.promise
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ('id' in message && message.id === REPLAY_ID) return this.#replayed.resolve()
    if ('method' in message && 'id' in message) return this.#ask(message, options)
    await this.#inner.send(this.#renamed(message), options)
  }

  async close(): Promise<void> {
    await this.#inner.close()
  }

  async #ask(request: JSONRPCRequest, options: TransportSendOptions | undefined): Promise<void> {
    const id = await this.#questions.ask()
    this.#asked.set(request.id, id)
    // Waits from now on: the client may answer before `send` returns.
    this.#questions
      .answerOf(id, this.#closed.signal)
      .then((answer) => this.onmessage?.({ jsonrpc: '2.0', id: request.id, ...answer } as JSONRPCMessage))
      .catch((error: unknown) => this.onerror?.(error as Error))
    await this.#inner.send({ ...request, id }, options)
  }

  /** A cancelled question has another id for the client. */
  #renamed(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return message
    const id = this.#asked.get(message.params?.requestId as RequestId)
    return id === undefined ? message : { ...message, params: { ...message.params, requestId: id } }
  }
}
