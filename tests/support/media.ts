/** Generated media, and servers that send media well or badly. */
import { createFetchPublic } from '../../src/platform/net/fetch-public.ts'
import { createOutboundPolicy } from '../../src/platform/net/outbound-url.ts'
import { createResolve } from '../../src/platform/net/resolve.ts'

/** Fetches with this DNS server, and has 127.0.0.1 in `OUTBOUND_ALLOW`. */
export const localInternet = (dns: string) =>
  createFetchPublic({
    resolve: createResolve({ servers: [dns], timeoutMs: 500, tries: 1 }),
    policy: createOutboundPolicy(['127.0.0.1/32']),
    patience: { answerMs: 2_000, stallMs: 2_000, stallBytes: 1_000 },
  })

const RATE = 8_000

/** Mono, 16 bits, 8 kHz. */
export function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const samples = RATE * seconds
  const bytes = new Uint8Array(44 + samples * 2)
  const view = new DataView(bytes.buffer)
  const text = (at: number, value: string) => bytes.set(Buffer.from(value, 'latin1'), at)
  text(0, 'RIFF')
  view.setUint32(4, 36 + samples * 2, true)
  text(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, RATE, true)
  view.setUint32(28, RATE * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  text(36, 'data')
  view.setUint32(40, samples * 2, true)
  for (let index = 0; index < samples; index++)
    view.setInt16(44 + index * 2, Math.round(8_000 * Math.sin((2 * Math.PI * 440 * index) / RATE)), true)
  return bytes
}

export const sha256 = (bytes: Uint8Array | ArrayBuffer) =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

export interface RawOrigin {
  readonly port: number
  /** Heads of the requests so far. */
  readonly requests: readonly string[]
  stop(): void
}

/** Gets the head of a request, writes bytes, and ends the connection normally or with a reset. */
export interface RawExchange {
  readonly head: string
  /** Starts at 1. */
  readonly number: number
  write(data: string | Uint8Array): void
  end(): void
  reset(): void
}

/** An HTTP server that behaves as badly as the test wants. */
export function startRawOrigin(answer: (exchange: RawExchange) => void, hostname = '127.0.0.1'): RawOrigin {
  const requests: string[] = []
  const listener = Bun.listen<{ head: string; pending: Uint8Array[]; ending: 'end' | 'terminate' | null }>({
    hostname,
    port: 0,
    socket: {
      open(socket) {
        socket.data = { head: '', pending: [], ending: null }
      },
      data(socket, chunk) {
        socket.data.head += chunk.toString('latin1')
        if (!socket.data.head.includes('\r\n\r\n')) return
        const { head } = socket.data
        socket.data.head = ''
        requests.push(head)
        const close = (ending: 'end' | 'terminate') => {
          socket.data.ending = ending
          flush(socket)
        }
        answer({
          head,
          number: requests.length,
          write(data) {
            socket.data.pending.push(typeof data === 'string' ? Buffer.from(data, 'latin1') : data)
            flush(socket)
          },
          end: () => close('end'),
          reset: () => close('terminate'),
        })
      },
      drain: (socket) => flush(socket),
    },
  })
  return { port: listener.port, requests, stop: () => listener.stop(true) }
}

function flush(
  socket: Bun.Socket<{ head: string; pending: Uint8Array[]; ending: 'end' | 'terminate' | null }>,
): void {
  const { pending } = socket.data
  for (let next = pending[0]; next !== undefined; next = pending[0]) {
    const written = socket.write(next)
    if (written < next.byteLength) {
      pending[0] = next.subarray(Math.max(0, written))
      return
    }
    pending.shift()
  }
  if (socket.data.ending === 'end') socket.end()
  if (socket.data.ending === 'terminate') {
    socket.flush()
    socket.terminate()
  }
}
