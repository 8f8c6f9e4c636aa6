/**
 * The notifier on PostgreSQL LISTEN/NOTIFY, for a service without Redis. A notification reaches every worker. The claim
 * decides which worker runs the actor, and skips actors that another worker is claiming.
 */
import { resolvesWithin } from '../platform/concurrency/timeout.ts'
import { listen } from '../platform/db/listener.ts'
import type { Database, Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import { createBatchedNotifier } from './batched-notifier.ts'
import {
  type ActorKey,
  type Hint,
  type Kinds,
  kindOf,
  NO_ORGANIZATION,
  type Notifier,
  type Pool,
  type WakeUp,
  type WakeUpSource,
} from './types.ts'

/** PostgreSQL refuses a payload of 8,000 bytes or more. */
const MAX_PAYLOAD_BYTES = 7_900
/** The most actors that wait in a busy worker; the sweep finds the others. */
const MAX_WAITING = 10_000
const SILENCE_MS = 2_000

/** `actors_short`: a worker listens to the channel of each pool that it runs. */
export function channelName(pool: Pool): string {
  return `actors_${pool}`
}

/** Sends with one statement on a connection of `sql`. Wake-ups of unknown kinds are left to the sweep. */
export function createPostgresNotifier(deps: {
  readonly sql: Sql
  readonly metrics: Metrics
  readonly kinds: Kinds
}): Notifier {
  return createBatchedNotifier('postgres', deps.metrics, async (wakeUps) => {
    const notes = toNotes(wakeUps, deps.kinds)
    await deps.sql`
      select pg_notify(channel, payload)
      from unnest(
        ${notes.map((note) => note.channel)}::text[], ${notes.map((note) => note.payload)}::text[]
      ) as n (channel, payload)`
  })
}

/** One line per wake-up, as many lines as fit into a notification: `key seq type organization`. */
function toNotes(wakeUps: readonly WakeUp[], kinds: Kinds): { channel: string; payload: string }[] {
  const notes: { channel: string; payload: string; bytes: number }[] = []
  const open = new Map<Pool, { channel: string; payload: string; bytes: number }>()
  for (const { key, seq, type, organization = '' } of wakeUps) {
    const pool = kinds.get(kindOf(key))
    if (pool === undefined) continue
    const line = `${key} ${seq} ${type} ${organization}\n`
    const bytes = Buffer.byteLength(line)
    let note = open.get(pool)
    if (note === undefined || note.bytes + bytes > MAX_PAYLOAD_BYTES) {
      note = { channel: channelName(pool), payload: '', bytes: 0 }
      notes.push(note)
      open.set(pool, note)
    }
    note.payload += line
    note.bytes += bytes
  }
  return notes
}

/** One connection for all `pools`. Resolves when it listens. */
export async function createPostgresSources(
  deps: { readonly database: Database; readonly log: Log },
  pools: readonly Pool[],
): Promise<ReadonlyMap<Pool, WakeUpSource>> {
  const waiting = new Map(pools.map((pool) => [channelName(pool), new WaitingWakeUps()]))
  // The sweep finds what was announced while the connection was lost.
  const listener = await listen(deps.database, {
    channels: [...waiting.keys()],
    applicationName: 'earshot-notifier',
    log: deps.log,
    onNotification: (channel, payload) => waiting.get(channel)?.add(toWakeUps(payload)),
  })
  let open = pools.length
  const source = (wakeUps: WaitingWakeUps): WakeUpSource => ({
    take: (count) => wakeUps.take(count),
    async close() {
      wakeUps.close()
      open -= 1
      if (open === 0) await listener.close()
    },
  })
  return new Map(pools.map((pool) => [pool, source(waiting.get(channelName(pool))!)]))
}

/** Wake-ups that were received and not taken yet; of each actor only the newest. */
class WaitingWakeUps {
  readonly #waiting = new Map<ActorKey, Hint>()
  #arrived = Promise.withResolvers<void>()
  #closed = false

  add(wakeUps: readonly Hint[]): void {
    for (const hint of wakeUps) {
      const known = this.#waiting.get(hint.key)
      if (known === undefined ? this.#waiting.size < MAX_WAITING : known.seq < hint.seq)
        this.#waiting.set(hint.key, hint)
    }
    this.#wake()
  }

  async take(count: number): Promise<readonly Hint[]> {
    if (this.#waiting.size === 0 && !this.#closed) await resolvesWithin(this.#arrived.promise, SILENCE_MS)
    const wakeUps: Hint[] = []
    for (const [key, hint] of this.#waiting) {
      if (wakeUps.length >= count) break
      this.#waiting.delete(key)
      wakeUps.push(hint)
    }
    return wakeUps
  }

  close(): void {
    this.#closed = true
    this.#waiting.clear()
    this.#wake()
  }

  #wake(): void {
    this.#arrived.resolve()
    this.#arrived = Promise.withResolvers()
  }
}

/** Reads the lines that `toNotes` wrote. Lines without a key are skipped. */
export function toWakeUps(payload: string): readonly Hint[] {
  const wakeUps: Hint[] = []
  for (const line of payload.split('\n')) {
    const [key = '', seq, , organization] = line.split(' ')
    if (key === '') continue
    wakeUps.push({
      key: key as ActorKey,
      seq: Number(seq) || 0,
      organization: organization || NO_ORGANIZATION,
    })
  }
  return wakeUps
}
