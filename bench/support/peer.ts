/**
 * The interface of every queue in `bench/actors`.
 *
 * A message counts as applied when its work cannot be undone: when its transaction commits, or, without a transaction, when the
 * queue is acknowledged. Handlers do nothing, so only the queue is measured.
 */

export interface Peer extends AsyncDisposable {
  readonly name: string
  /** Its guarantees: order, durability. */
  readonly about: string
  /** Stores `perKey` messages for each of `keys` keys, round-robin over the keys, while no worker runs. */
  fill(keys: number, perKey: number): Promise<void>
  /** Processes until nothing is left, or for `limitMs`. @returns the number of applied messages and the time. */
  drain(total: number, limitMs: number): Promise<Drained>
  /** Empties the queue. */
  clear(): Promise<void>
  /** For latency: processes until stopped, and reports the number of every message of `send` when it is applied. */
  work(applied: (id: number) => void): Promise<Sender>
}

export interface Drained {
  readonly messages: number
  readonly ms: number
}

export interface Sender {
  /** Resolves when the message is stored as durably as the peer can. `told`: `applied` is called for it. */
  send(key: number, id: number, told: boolean): Promise<void>
  stop(): Promise<void>
}

/** The module of a peer, loaded by name because its dependencies are installed separately. */
export interface PeerModule {
  createPeer(options: PeerOptions): Promise<Peer>
}

export interface PeerOptions {
  readonly databaseUrl: string
  /** A Unix socket; null for peers on PostgreSQL. */
  readonly redis: string | null
  readonly about: string
}

/** Counts up to `total`, or for `limitMs`. The clock starts with the first message, so the start of a worker does not count. */
export async function countUntil(
  total: number,
  limitMs: number,
  begin: (count: () => void) => Promise<() => Promise<void>>,
): Promise<Drained> {
  let messages = 0
  const over = Promise.withResolvers<void>()
  let started = performance.now()
  const timer = setTimeout(over.resolve, limitMs)
  const stop = await begin(() => {
    if (messages === 0) started = performance.now()
    if (++messages >= total) over.resolve()
  })
  await over.promise
  clearTimeout(timer)
  const drained = { messages, ms: performance.now() - started }
  await stop()
  return drained
}
