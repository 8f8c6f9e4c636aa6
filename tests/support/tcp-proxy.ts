/**
 * A bad network between two programs: a TCP proxy that can stop forwarding silently, lose answers, cut connections, or
 * delay.
 */
import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * - `good`: forwards.
 * - `silent`: forwards nothing in either direction and closes nothing, as a firewall that forgot a connection does.
 * - `deaf`: requests arrive, but their answers are lost. So the request takes effect, and the client does not learn it.
 */
type Line = 'good' | 'silent' | 'deaf'

export interface TcpProxy {
  readonly port: number
  /** Open connections. */
  readonly connections: number
  /** Connections refused so far. */
  readonly refused: number
  /**
   * The state of all connections from now on, including open ones. A connection that lost bytes never recovers: when
   * the network is good again, only new connections work.
   */
  setLine(line: Line): void
  /** New connections lead to this port. Open ones stay where they are. */
  setTarget(port: number): void
  /** Delays every chunk in both directions from now on. */
  setDelay(ms: number): void
  /** Resets all open connections. @returns how many */
  cut(): number
  /**
   * Cuts, and refuses new connections until told otherwise. `closing`: accepts and closes them, as a proxy does whose server is away.
   */
  setRefusing(refusing: boolean | 'closing'): void
  stop(): Promise<void>
}

interface Pair {
  readonly near: Socket
  readonly far: Socket
  line: Line
}

/** Listens on a free port of the loopback interface and forwards to `port` there. */
export async function startTcpProxy(port: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>()
  let line: Line = 'good'
  let target = port
  let delayMs = 0
  let refusing: boolean | 'closing' = false
  let refused = 0
  const server = createServer((near) => {
    if (refusing) {
      refused += 1
      if (refusing === 'closing')
        return void near
          .resume()
          .on('error', () => {})
          .end()
      return void near.resetAndDestroy()
    }
    const pair: Pair = { near, far: connect({ host: '127.0.0.1', port: target }), line }
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      near.destroy()
      pair.far.destroy()
    }
    forward(
      near,
      pair.far,
      () => pair.line !== 'silent',
      () => delayMs,
    )
    forward(
      pair.far,
      near,
      () => pair.line === 'good',
      () => delayMs,
    )
    for (const socket of [near, pair.far]) {
      socket.setNoDelay(true)
      // On a line that is cut, neither side learns that the other has gone.
      socket.on('error', () => pair.line === 'good' && end())
      socket.on('close', () => (pair.line === 'good' || socket === near) && end())
    }
  })
  await listen(server)
  const cut = () => {
    const all = [...pairs]
    for (const { near, far } of all) {
      near.resetAndDestroy()
      far.resetAndDestroy()
    }
    pairs.clear()
    return all.length
  }
  return {
    port: (server.address() as { port: number }).port,
    get connections() {
      return pairs.size
    },
    get refused() {
      return refused
    },
    setLine(next) {
      line = next
      if (next !== 'good') for (const pair of pairs) pair.line = next
    },
    setTarget(next) {
      target = next
    },
    setDelay(ms) {
      delayMs = ms
    },
    cut,
    setRefusing(next) {
      refusing = next
      if (next) cut()
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}

/** Forwards chunk by chunk. Later chunks wait for earlier delayed ones. */
function forward(from: Socket, to: Socket, passes: () => boolean, delayMs: () => number): void {
  let before: Promise<unknown> = Promise.resolve()
  let held = 0
  from.on('data', (chunk: Buffer) => {
    if (!passes()) return
    const ms = delayMs()
    if (ms === 0 && held === 0) return void to.write(chunk)
    held += 1
    before = Promise.all([before, Bun.sleep(ms)]).then(() => {
      held -= 1
      if (!to.destroyed && passes()) to.write(chunk)
    })
  })
}

function listen(server: Server): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  return promise
}
