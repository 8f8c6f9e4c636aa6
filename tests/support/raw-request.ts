/**
 * A request whose body a test sends in pieces. The test can leave it unfinished by closing or by resetting the
 * connection.
 */
import { connect } from 'node:net'

interface RawResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface RawRequest {
  /** Resolves when the bytes are written; to false if the connection is closed. */
  write(bytes: Uint8Array): Promise<boolean>
  /** Closes this side, as a program that ends does. */
  end(): void
  /** Resets the connection, as a killed program does. */
  reset(): void
  /** The first complete answer. Null if the connection ends without one. */
  readonly response: Promise<RawResponse | null>
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>
}

/** Sends the head. The caller sets `Content-Length` or `Transfer-Encoding`. */
export function openRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): RawRequest {
  const { hostname, port, pathname } = new URL(url)
  const response = Promise.withResolvers<RawResponse | null>()
  const closed = Promise.withResolvers<void>()
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.on('data', (data) => {
    received += data.toString('latin1')
    const parsed = parse(received)
    if (parsed !== null) response.resolve(parsed)
  })
  // A reset also closes a connection.
  socket.on('error', () => {})
  socket.on('close', () => {
    response.resolve(null)
    closed.resolve()
  })
  const lines = Object.entries({ host: `${hostname}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  socket.write(`${method} ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  return {
    write: (bytes) =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve(false)
        const isClosed = () => resolve(false)
        socket.once('close', isClosed)
        socket.write(bytes, (error) => {
          socket.off('close', isClosed)
          resolve(error === undefined || error === null)
        })
      }),
    end: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    response: response.promise,
    closed: closed.promise,
  }
}

/** Interim responses (1xx) precede the final response. */
function parse(text: string): RawResponse | null {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const status = Number(text.slice(9, 12))
  const behind = text.slice(end + 4)
  if (status < 200) return parse(behind)
  const headers = Object.fromEntries(
    text
      .slice(0, end)
      .split('\r\n')
      .slice(1)
      .map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
  )
  const length = Number(headers['content-length'] ?? 0)
  return behind.length < length ? null : { status, headers, body: behind.slice(0, length) }
}
