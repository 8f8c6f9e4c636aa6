/**
 * A TCP proxy that cuts connections while the client is sending, and connects each to another process.
 *
 * It cuts a given number of times and then forwards everything, so a client that continues finishes.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Random } from '../../crash/support/random.ts'
import type { ApiPool } from './api-pool.ts'

export interface CuttingProxy {
  readonly origin: string
  /** How many connections it has cut so far. */
  readonly cuts: () => number
  stop(): void
}

export interface Cutting {
  readonly times: number
  /** A connection is cut after between a tenth and seven tenths of this number of bytes. */
  readonly bytes: number
  readonly random: Random
}

export async function startCuttingProxy(pool: ApiPool, cutting: Cutting): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  let cuts = 0
  const server: Server = createServer({ allowHalfOpen: true }, async (client) => {
    let budget = Math.ceil(cutting.bytes * (0.1 + 0.6 * cutting.random.next()))
    track(sockets, client)
    client.pause()
    const port = await pool.pick()
    const upstream = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    track(sockets, upstream)
    tie(client, upstream)
    upstream.pipe(client)
    client.on('end', () => upstream.end())
    client.on('data', async (chunk: Buffer) => {
      client.pause()
      const mayCut = cuts < cutting.times
      const part = mayCut && chunk.byteLength > budget ? chunk.subarray(0, budget) : chunk
      budget -= part.byteLength
      await pool.passing(port, part.byteLength)
      if (upstream.destroyed) return
      await new Promise((resolve) => upstream.write(part, resolve))
      if (!mayCut || budget > 0) return client.resume()
      cuts++
      // Once as a killed client (reset), once as an ending one (end): the service must handle both.
      if (cutting.random.next() < 0.5) upstream.resetAndDestroy()
      else upstream.end()
      client.destroy()
    })
    client.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    origin: `http://127.0.0.1:${address.port}`,
    cuts: () => cuts,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => sockets.delete(socket))
}

/** When the process dies, the client connection is closed, too. */
function tie(client: Socket, upstream: Socket): void {
  upstream.on('close', () => client.destroy())
  client.on('close', () => {
    if (!upstream.writableEnded) upstream.destroy()
  })
}
