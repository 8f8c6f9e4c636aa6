/** The time from the commit of a message until it is applied: one at a time, and under half of the sustained load. */
import { inParallel } from './measure.ts'
import type { Peer, Sender } from './peer.ts'

const IDLE_SAMPLES = 300
const IDLE_PAUSE_MS = 10
const KEYS = 1_000
const SENDERS = 16
const LOAD_MS = 4_000
const MAX_AHEAD = 1_000
/** Under load, one of this many messages is timed. */
const SAMPLED = 20
const TICK_MS = 5
const TIMEOUT_MS = 20_000

export interface Latency {
  readonly p50: number
  readonly p99: number
}

/** Sends each message after the previous one was applied, with a pause in between. */
export async function latencyIdle(peer: Peer): Promise<Latency> {
  return timed(peer, async (clock, sender) => {
    for (let id = 0; id < IDLE_SAMPLES; id++) {
      await clock.send(sender, id % KEYS, id)
      await clock.applied(id)
      await Bun.sleep(IDLE_PAUSE_MS)
    }
  })
}

/** Measures the rate that sender and worker sustain, then sends at half of it. */
export async function latencyAtHalfLoad(peer: Peer): Promise<Latency & { readonly rate: number }> {
  const rate = (await sustained(peer)) / 2
  await peer.clear()
  const latency = await timed(peer, async (clock, sender) => {
    const started = performance.now()
    const sends: Promise<void>[] = []
    let sent = 0
    for (let now = 0; now < LOAD_MS; now = performance.now() - started) {
      for (const due = (now * rate) / 1_000; sent < due; sent++) {
        const id = sent
        sends.push(id % SAMPLED === 0 ? clock.send(sender, id % KEYS, id) : sender.send(id % KEYS, id, false))
      }
      await Bun.sleep(TICK_MS)
    }
    await Promise.all(sends)
    for (let id = 0; id < sent; id += SAMPLED) await clock.applied(id)
  })
  return { ...latency, rate }
}

/** Messages per second with several senders that pause while the backlog is too large. */
async function sustained(peer: Peer): Promise<number> {
  let done = 0
  const waiting = new Set<() => void>()
  const sender = await peer.work((id) => {
    done = Math.max(done, id)
    for (const wake of waiting) wake()
    waiting.clear()
  })
  const started = performance.now()
  let sent = 0
  await inParallel(SENDERS, SENDERS, async () => {
    while (performance.now() - started < LOAD_MS) {
      const id = sent++
      await sender.send(id % KEYS, id, id % SAMPLED === 0)
      const until = performance.now() + LOAD_MS
      while (sent - done > MAX_AHEAD && performance.now() < until)
        await Promise.race([new Promise<void>((wake) => waiting.add(wake)), Bun.sleep(100)])
    }
  })
  const rate = (done / (performance.now() - started)) * 1_000
  await sender.stop()
  return rate
}

interface Clock {
  /** Starts the clock of a message at its commit. */
  send(sender: Sender, key: number, id: number): Promise<void>
  applied(id: number): Promise<void>
}

/** Lets `scenario` send timed messages, and returns the percentiles of their times. */
async function timed(
  peer: Peer,
  scenario: (clock: Clock, sender: Sender) => Promise<void>,
): Promise<Latency> {
  const committed = new Map<number, number>()
  const applied = new Map<number, PromiseWithResolvers<number>>()
  const arrival = (id: number) => {
    const known = applied.get(id) ?? Promise.withResolvers<number>()
    applied.set(id, known)
    return known
  }
  const sender = await peer.work((id) => arrival(id).resolve(performance.now()))
  const clock: Clock = {
    async send(to, key, id) {
      await to.send(key, id, true)
      committed.set(id, performance.now())
    },
    async applied(id) {
      await Promise.race([arrival(id).promise, Bun.sleep(TIMEOUT_MS)])
    },
  }
  await scenario(clock, sender)
  const times: number[] = []
  for (const [id, at] of committed) {
    // Applied before the sender learned of its own commit: counts as zero.
    const end = await Promise.race([arrival(id).promise, Bun.sleep(0).then(() => Number.POSITIVE_INFINITY)])
    times.push(Math.max(0, end - at))
  }
  await sender.stop()
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return { p50: at(0.5), p99: at(0.99) }
}
