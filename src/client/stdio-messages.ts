/**
 * Forwards messages of the Model Context Protocol from the standard input of a process to the service, and its answers to the
 * standard output. A message is one line of JSON. The service speaks the protocol; this file only carries messages, so both
 * transports offer the same tools.
 */
export interface StdioOptions {
  /** Address of the service, without a trailing slash. */
  readonly url: string
  /** Headers of every request, such as the user token. */
  readonly headers: Readonly<Record<string, string>>
  readonly input: AsyncIterable<Uint8Array>
  readonly write: (line: string) => void
  /** Tells the user of the process. */
  readonly say: (line: string) => void
}

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

/** A line that is longer cannot be a request that the service takes. */
const MAX_LINE_BYTES = 8 * 1024 * 1024
/** The request whose answer is a stream of changes. */
const LISTEN = 'subscriptions/listen'
const INTERNAL_ERROR = -32_603
const PARSE_ERROR = -32_700
const NOT_FOUND = 404

/** How long requests may be answered after the end of the input. */
const END_MS = 30_000

/**
 * Resolves when the input has ended and its requests are answered. Those that take longer than `END_MS` after the end, or ask the
 * user, who is gone, are given up.
 */
export async function forwardMessages(options: StdioOptions): Promise<void> {
  const connection = createConnection(options)
  const underway = new Set<Promise<void>>()
  for await (const line of linesOf(options.input)) {
    if (line.trim() === '') continue
    const sent = connection.send(line).finally(() => underway.delete(sent))
    underway.add(sent)
  }
  connection.end()
  const giveUp = setTimeout(() => connection.close(), END_MS)
  await Promise.allSettled(underway)
  clearTimeout(giveUp)
}

function createConnection({ url, headers, write, say }: StdioOptions) {
  const closed = new AbortController()
  /** Requests without an answer, by their ids. */
  const open = new Map<string | number, AbortController>()
  /** Those of them that only end when they are cancelled. */
  const streams = new Set<AbortController>()
  /** The start of the session of an older client; sent again where the service has forgotten the session. */
  let start: Message | null = null
  let session: Record<string, string> = {}
  /** Ends when the client of an older version has its session, which its next messages name. */
  let starting: Promise<void> = Promise.resolve()
  let hasEnded = false

  const show = (message: object) => write(JSON.stringify(message))
  const fail = (id: string | number | undefined, message: string, code = INTERNAL_ERROR) => {
    if (id === undefined) say(message)
    else show({ jsonrpc: '2.0', id, error: { code, message } })
  }

  async function post(message: Message, signal: AbortSignal): Promise<Response> {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(versionHeaders(message) ?? session),
      },
      // A redirect could send the token to another host.
      redirect: 'manual',
      signal,
    })
    const id = response.headers.get('mcp-session-id')
    if (id !== null) session = { ...session, 'mcp-session-id': id }
    return response
  }

  /** Starts the session again, for a client that does not know of it. */
  async function restart(signal: AbortSignal): Promise<void> {
    session = {}
    if (start === null) return
    for await (const message of messagesOf(await post(start, signal))) remember(message)
  }

  function remember({ result }: Message): void {
    if (typeof result?.protocolVersion === 'string')
      session = { ...session, 'mcp-protocol-version': result.protocolVersion }
  }

  async function exchange(message: Message, signal: AbortSignal): Promise<void> {
    let response = await post(message, signal)
    if (response.status === NOT_FOUND && 'mcp-session-id' in session) {
      await response.body?.cancel()
      await restart(signal)
      response = await post(message, signal)
    }
    let isAnswered = false
    for await (const answer of messagesOf(response)) {
      if (hasEnded && isRequest(answer))
        return fail(message.id, 'The input has ended, so the user cannot be asked.')
      if (message.method === 'initialize') remember(answer)
      // The service could not tell which request it refused.
      const isRefusal = answer.error !== undefined && (answer.id ?? null) === null
      if (isRefusal) fail(message.id, `${answer.error?.message} (${response.status})`, answer.error?.code)
      else show(answer)
      isAnswered ||= answer.method === undefined
    }
    if (!isAnswered && isRequest(message)) fail(message.id, `The service answered ${response.status}.`)
  }

  return {
    async send(line: string): Promise<void> {
      const message = parse(line)
      if (message === null)
        return show({
          jsonrpc: '2.0',
          id: null,
          error: { code: PARSE_ERROR, message: 'A line is not JSON.' },
        })
      if (message.method === 'notifications/cancelled') {
        open.get(message.params?.requestId as string | number)?.abort()
        return
      }
      if (message.method === 'initialize') {
        start = message
        starting = exchangeOrFail(message)
        return starting
      }
      await starting
      await exchangeOrFail(message)
    },
    /** The input has ended: nobody answers what the service asks. */
    end: () => {
      hasEnded = true
      for (const stream of streams) stream.abort()
    },
    close: () => closed.abort(),
  }

  async function exchangeOrFail(message: Message): Promise<void> {
    const cancelled = new AbortController()
    if (isRequest(message)) open.set(message.id, cancelled)
    if (message.method === LISTEN) streams.add(cancelled)
    try {
      await exchange(message, AbortSignal.any([cancelled.signal, closed.signal]))
    } catch (error) {
      // A cancelled request has no answer.
      if (cancelled.signal.aborted || closed.signal.aborted) return
      fail(isRequest(message) ? message.id : undefined, `${url} does not answer: ${(error as Error).message}`)
    } finally {
      streams.delete(cancelled)
      if (message.id !== undefined && open.get(message.id) === cancelled) open.delete(message.id)
    }
  }
}

const isRequest = (message: Message): message is Message & { readonly id: string | number } =>
  message.method !== undefined && message.id !== undefined

function parse(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/** The headers of version 2026-07-28, which repeat members of the message; null for older versions. */
function versionHeaders({ method, params }: Message): Record<string, string> | null {
  const version = (params?._meta as Readonly<Record<string, unknown>> | undefined)?.[VERSION]
  if (typeof version !== 'string') return null
  const name = params?.name ?? params?.uri
  return {
    'mcp-protocol-version': version,
    ...(method === undefined ? {} : { 'mcp-method': headerText(method) }),
    ...(typeof name === 'string' ? { 'mcp-name': headerText(name) } : {}),
  }
}

/** Other characters than those of a header are sent as base64. */
function headerText(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?')
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}

/** The messages of an answer: of a stream as they come, or one. */
async function* messagesOf(response: Response): AsyncGenerator<Message> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const message = parse(await response.text())
    if (message !== null) yield message
    return
  }
  for await (const line of linesOf(response.body as ReadableStream<Uint8Array>)) {
    const message = line.startsWith('data:') ? parse(line.slice('data:'.length)) : null
    if (message !== null) yield message
  }
}

/** Lines of UTF-8. @throws Error if one is too long */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let parts: string[] = []
  let size = 0
  for await (const chunk of input) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
    parts.push(first)
    size += first.length
    for (const next of others) {
      yield parts.join('')
      parts = [next]
      size = next.length
    }
    if (size > MAX_LINE_BYTES) throw new Error(`a line has more than ${MAX_LINE_BYTES} characters`)
  }
  if (size > 0) yield parts.join('')
}
