/** A TCP proxy that counts bytes, and can stop forwarding, cut connections and lose answers, as a bad network does. */
import { connect, createServer, type Socket } from 'node:net'

export interface CountingProxy {
  readonly url: string
  /** Bytes that clients sent and the proxy passed on to the target. */
  readonly forwarded: number
  /** Cuts the connection that carries the byte after this many more forwarded bytes. */
  cutAfter(bytes: number): void
  /** Stops forwarding after this many more bytes, and resolves then. */
  holdAfter(bytes: number): Promise<void>
  /** Forwards again. */
  release(): void
  /** Loses the next answer of the target, together with its connection. */
  swallowAnswer(): void
  stop(): Promise<void>
}

interface Faults {
  forwarded: number
  cutAt: number
  holdAt: number
  swallows: boolean
  held: PromiseWithResolvers<void>
}

/** `target` is a URL such as `http://127.0.0.1:3000`. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const { hostname, port } = new URL(target)
  const faults: Faults = {
    forwarded: 0,
    cutAt: Number.POSITIVE_INFINITY,
    holdAt: Number.POSITIVE_INFINITY,
    swallows: false,
    held: Promise.withResolvers<void>(),
  }
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client)
    client.on('close', () => clients.delete(client))
    join(client, connect(Number(port), hostname), faults)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    get forwarded() {
      return faults.forwarded
    },
    cutAfter(bytes) {
      faults.cutAt = faults.forwarded + bytes
    },
    holdAfter(bytes) {
      faults.held = Promise.withResolvers<void>()
      faults.holdAt = faults.forwarded + bytes
      return faults.held.promise
    },
    release() {
      faults.holdAt = Number.POSITIVE_INFINITY
      for (const client of clients) client.resume()
    },
    swallowAnswer() {
      faults.swallows = true
    },
    async stop() {
      for (const client of clients) client.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

function join(client: Socket, upstream: Socket, faults: Faults): void {
  let isCut = false
  const end = () => {
    client.destroy()
    // What was already forwarded still arrives, as when a client dies while the network works.
    upstream.end()
  }
  client.on('data', (chunk: Buffer) => {
    faults.forwarded += chunk.byteLength
    const isTaken = upstream.write(chunk)
    if (faults.forwarded >= faults.holdAt) {
      client.pause()
      faults.held.resolve()
    } else if (faults.forwarded >= faults.cutAt) {
      faults.cutAt = Number.POSITIVE_INFINITY
      // The client loses its connection when the target has taken what was forwarded, however busy the target is.
      isCut = true
      client.pause()
      upstream.end()
    } else if (!isTaken) client.pause()
  })
  upstream.on('drain', () => {
    if (!isCut && faults.forwarded < faults.holdAt) client.resume()
  })
  upstream.on('data', (chunk: Buffer) => {
    if (faults.swallows) {
      faults.swallows = false
      end()
    } else client.write(chunk)
  })
  for (const socket of [client, upstream]) {
    socket.on('error', end)
    socket.on('close', end)
  }
}
