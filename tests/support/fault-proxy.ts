/** A reverse proxy in front of the service that behaves as the network and overloaded services do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * - `pass`: forwards.
 * - `slow`: forwards after 300 ms.
 * - `busy`: 429 with `Retry-After`; `stopped`: 503 with it. The service sees nothing.
 * - `lost`: the service handles the request, and its answer is lost.
 * - `cut`: the connection is cut, and the service sees nothing.
 */
export const FAULTS = ['pass', 'slow', 'busy', 'stopped', 'lost', 'cut'] as const
export type Fault = (typeof FAULTS)[number]

export interface FaultProxy {
  readonly url: string
  /** How often each fault has occurred. */
  readonly counts: Readonly<Record<Fault, number>>
  /** Address of the service from now on; null: nothing listens there. */
  target: string | null
  stop(): Promise<void>
}

/** `next` chooses what happens to each request. */
export async function startFaultProxy(target: string, next: () => Fault): Promise<FaultProxy> {
  const counts: Record<Fault, number> = { pass: 0, slow: 0, busy: 0, stopped: 0, lost: 0, cut: 0 }
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => request.socket.destroy())
  })
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bytesOf(request)
    const fault = next()
    counts[fault] += 1
    if (fault === 'busy' || fault === 'stopped') {
      response.writeHead(fault === 'busy' ? 429 : 503, { 'retry-after': '0' })
      return void response.end('{}')
    }
    if (fault === 'cut' || proxy.target === null) return void request.socket.destroy()
    if (fault === 'slow') await Bun.sleep(300)
    const headers = { ...request.headers } as Record<string, string>
    delete headers.host
    delete headers.connection
    const answer = await fetch(`${proxy.target}${request.url}`, {
      method: request.method ?? 'GET',
      headers,
      body: body.byteLength > 0 ? body : null,
      decompress: false,
    } as RequestInit)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    if (fault === 'lost') return void request.socket.destroy()
    const kept = ['content-type', 'retry-after', 'content-encoding'].flatMap((name) => {
      const value = answer.headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    response.writeHead(answer.status, { ...Object.fromEntries(kept), 'content-length': bytes.byteLength })
    response.end(bytes)
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.address() as { port: number }
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${port}`,
    counts,
    target,
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return proxy
}

async function bytesOf(request: IncomingMessage): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return new Uint8Array(Buffer.concat(chunks))
}
