/**
 * Requests written byte by byte, such as a body that never ends. No HTTP client would send them. Counts the bytes that
 * the server accepted.
 */
import { connect } from 'node:net'

export interface RawAnswer {
  readonly status: number
  /** Everything after the head. */
  readonly body: string
  /** Bytes of the body that were written before the answer arrived. */
  readonly bytesSent: number
}

const CHUNK = Buffer.alloc(64 * 1024, ' ')

export interface RawRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /**
   * `none`: the head alone, although it may announce more. `endless`: chunks until the answer comes, at most `maxBytes`.
   */
  readonly body: 'none' | 'endless' | { readonly chunked: Uint8Array }
  readonly maxBytes?: number
}

/** Sends a POST. Reads the head of the answer, and the part of its body that arrives with it. */
export function rawPost(baseUrl: string, request: RawRequest): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl)
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  let bytesSent = 0
  socket.setTimeout(20_000, () => socket.destroy(new Error(`no answer within 20 s: ${received}`)))
  socket.on('error', reject)
  socket.on('close', () => reject(new Error(`closed without an answer: ${received}`)))
  socket.on('data', (data) => {
    received += data.toString('latin1')
    const head = received.indexOf('\r\n\r\n')
    const length = Number(/^content-length: (\d+)/im.exec(received)?.[1] ?? 0)
    if (head === -1 || received.length < head + 4 + length) return
    const status = Number(received.slice(9, 12))
    resolve({ status, body: received.slice(head + 4), bytesSent })
    socket.destroy()
  })
  const write = (data: Uint8Array) => {
    bytesSent += data.byteLength
    return socket.write(
      Buffer.concat([Buffer.from(`${data.byteLength.toString(16)}\r\n`), data, Buffer.from('\r\n')]),
    )
  }
  const writeOn = () => {
    while (!socket.destroyed && bytesSent < (request.maxBytes ?? Number.POSITIVE_INFINITY))
      if (!write(CHUNK)) return
  }
  socket.on('connect', () => {
    const chunked = request.body === 'none' ? {} : { 'transfer-encoding': 'chunked' }
    const headers = { host: hostname, 'content-type': 'application/json', ...chunked, ...request.headers }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${request.path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    if (request.body === 'none') return
    if (request.body === 'endless') {
      socket.on('drain', writeOn)
      return writeOn()
    }
    for (let at = 0; at < request.body.chunked.byteLength; at += CHUNK.byteLength)
      write(request.body.chunked.subarray(at, at + CHUNK.byteLength))
    socket.write('0\r\n\r\n')
  })
  return promise
}
