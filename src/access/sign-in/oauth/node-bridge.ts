/**
 * Calls a handler that is written for Node.js (`node:http`) with a request in memory.
 *
 * The library of the authorization server is built on Koa, which needs the two objects of Node.js. It reads the method, the URL,
 * the headers and the body of one, and writes a status, headers and a short body to the other.
 */
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'

export interface BridgedRequest {
  readonly method: string
  /** Path and query, as the handler's routes have them. */
  readonly url: string
  /** Path and query with the prefix of the public address. */
  readonly originalUrl: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | null
  readonly isSecure: boolean
}

type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown

type HeaderValue = string | number | readonly string[]

class BridgedResponse extends Writable {
  statusCode = 200
  statusMessage = ''
  readonly headersSent = false
  readonly #headers = new Map<string, HeaderValue>()
  readonly #chunks: Buffer[] = []

  constructor(readonly socket: EventEmitter) {
    super()
  }
  setHeader(name: string, value: HeaderValue): void {
    this.#headers.set(name.toLowerCase(), value)
  }
  getHeader(name: string): HeaderValue | undefined {
    return this.#headers.get(name.toLowerCase())
  }
  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase())
  }
  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase())
  }
  getHeaderNames(): string[] {
    return [...this.#headers.keys()]
  }
  getHeaders(): Record<string, HeaderValue> {
    return Object.fromEntries(this.#headers)
  }
  flushHeaders(): void {}
  override _write(chunk: Uint8Array, _: unknown, done: () => void): void {
    this.#chunks.push(Buffer.from(chunk))
    done()
  }
  toResponse(): Response {
    const headers = new Headers()
    for (const [name, value] of this.#headers)
      for (const one of [value].flat()) headers.append(name, String(one))
    headers.delete('content-length')
    const isEmpty = this.statusCode === 204 || this.statusCode === 304
    return new Response(isEmpty ? null : Buffer.concat(this.#chunks), { status: this.statusCode, headers })
  }
}

/** The two objects of Node.js for a request, and the response once the handler has ended it. */
function bridge({ method, url, originalUrl, headers, body, isSecure }: BridgedRequest) {
  const socket = Object.assign(new EventEmitter(), { encrypted: isSecure, readable: true, writable: true })
  const length = body === null ? {} : { 'content-length': String(body.byteLength) }
  const incoming = Object.assign(
    Readable.from(body === null ? [] : [Buffer.from(body)], { objectMode: false }),
    {
      method,
      url,
      originalUrl,
      headers: { ...headers, ...length },
      socket,
      connection: socket,
      complete: true,
    },
    { httpVersion: '1.1', httpVersionMajor: 1, httpVersionMinor: 1 },
  )
  const outgoing = new BridgedResponse(socket)
  const ended = new Promise<Response>((resolve, reject) => {
    outgoing.on('finish', () => resolve(outgoing.toResponse()))
    outgoing.on('error', reject)
  })
  return {
    incoming: incoming as unknown as IncomingMessage,
    outgoing: outgoing as unknown as ServerResponse,
    ended,
  }
}

/** The response of a handler that ends it itself. */
export function callNode(handler: NodeHandler, request: BridgedRequest): Promise<Response> {
  const { incoming, outgoing, ended } = bridge(request)
  handler(incoming, outgoing)
  return ended
}

/** The result of a function that reads the request. */
export function readNode<T>(
  read: (request: IncomingMessage, response: ServerResponse) => Promise<T>,
  request: BridgedRequest,
): Promise<T> {
  const { incoming, outgoing } = bridge(request)
  return read(incoming, outgoing)
}
