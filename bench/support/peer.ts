/**
 * What every queue of `bench/actors` can do, ours and the others'.
 *
 * The rule: a message is applied when its work cannot come back: committed where there is a transaction, acknowledged
 * in the queue where there is none. Handlers do nothing, so what is measured is the queue.
 */

export interface Peer extends AsyncDisposable {
  readonly name: string
  /** What it promises: order, durability. */
  readonly about: string
  /** Stores `perKey` messages for each of `keys` keys, in turns over the keys; nobody works meanwhile. */
  fill(keys: number, perKey: number): Promise<void>
  /** Works until nothing is left, or for `limitMs`. @returns how many were applied and how long it took. */
  drain(total: number, limitMs: number): Promise<Drained>
  /** Empties the queue. */
  clear(): Promise<void>
  /** For latency: works until stopped, and tells the number of every message sent by `send` when it was applied. */
  work(applied: (id: number) => void): Promise<Sender>
}

export interface Drained {
  readonly messages: number
  readonly ms: number
}

export interface Sender {
  /** Resolves when the message is stored as durably as the peer does. `told`: `applied` is wanted for it. */
  send(key: number, id: number, told: boolean): Promise<void>
  stop(): Promise<void>
}

/** The module of a peer, loaded by name because its dependencies are installed apart from the product's. */
export interface PeerModule {
  createPeer(options: PeerOptions): Promise<Peer>
}

export interface PeerOptions {
  readonly databaseUrl: string
  /** A Unix socket; null for peers on PostgreSQL. */
  readonly redis: string | null
  readonly about: string
}

/** Counts up to `total`, or for `limitMs`. The clock starts with the first message: how long a worker takes to start is not asked. */
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
