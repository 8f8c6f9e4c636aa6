/**
 * The doorbell on PostgreSQL LISTEN/NOTIFY, where there is no Redis. A notification reaches every worker; the claim
 * decides who does the work, and skips what another is claiming.
 */
import { listen } from '../platform/db/listener.ts'
import type { Database, Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { EnvelopeSource, Ring } from './doorbell.ts'
import { createRinger } from './ringer.ts'
import {
  ACTOR_POOLS,
  type ActorKey,
  type Doorbell,
  type Envelope,
  kindOf,
  NO_ORGANIZATION,
  type Pool,
} from './types.ts'

/** PostgreSQL refuses a payload of 8,000 bytes or more. */
const MAX_PAYLOAD_BYTES = 7_900
/** Actors that wait in a busy worker; what comes on top is left to the sweep. */
const MAX_WAITING = 10_000
const SILENCE_MS = 2_000

function channelName(pool: Pool): string {
  return `actors_${pool}`
}

export function createPostgresDoorbell(deps: { readonly sql: Sql; readonly metrics: Metrics }): Doorbell {
  return createRinger('postgres', deps.metrics, async (envelopes) => {
    const notes = toNotes(envelopes)
    await deps.sql`
      select pg_notify(channel, payload)
      from unnest(
        ${notes.map((note) => note.channel)}::text[], ${notes.map((note) => note.payload)}::text[]
      ) as n (channel, payload)`
  })
}

/** One line an envelope, as many as fit into a notification: `key seq type organization`. */
function toNotes(envelopes: readonly Envelope[]): { channel: string; payload: string }[] {
  const notes: { channel: string; payload: string; bytes: number }[] = []
  const open = new Map<Pool, { channel: string; payload: string; bytes: number }>()
  for (const { key, seq, type, organization = '' } of envelopes) {
    const kind = kindOf(key)
    if (kind === null) continue
    const pool = ACTOR_POOLS[kind]
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
): Promise<ReadonlyMap<Pool, EnvelopeSource>> {
  const waiting = new Map(pools.map((pool) => [channelName(pool), new WaitingRings()]))
  // What was rung while the connection was lost is swept.
  const listener = await listen(deps.database, {
    channels: [...waiting.keys()],
    applicationName: 'earshot-doorbell',
    log: deps.log,
    onNotification: (channel, payload) => waiting.get(channel)?.add(toRings(payload)),
  })
  let open = pools.length
  const source = (rings: WaitingRings): EnvelopeSource => ({
    take: (count) => rings.take(count),
    async close() {
      rings.close()
      open -= 1
      if (open === 0) await listener.close()
    },
  })
  return new Map(pools.map((pool) => [pool, source(waiting.get(channelName(pool))!)]))
}

/** What was rung for and not taken yet: of each actor the newest letter. */
class WaitingRings {
  readonly #waiting = new Map<ActorKey, Ring>()
  #arrived = Promise.withResolvers<void>()
  #closed = false

  add(rings: readonly Ring[]): void {
    for (const ring of rings) {
      const known = this.#waiting.get(ring.key)
      if (known === undefined ? this.#waiting.size < MAX_WAITING : known.seq < ring.seq)
        this.#waiting.set(ring.key, ring)
    }
    this.#wake()
  }

  async take(count: number): Promise<readonly Ring[]> {
    if (this.#waiting.size === 0 && !this.#closed) await arrivedOrSilence(this.#arrived.promise)
    const rings: Ring[] = []
    for (const [key, ring] of this.#waiting) {
      if (rings.length >= count) break
      this.#waiting.delete(key)
      rings.push(ring)
    }
    return rings
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

async function arrivedOrSilence(arrived: Promise<void>): Promise<void> {
  const silence = Promise.withResolvers<void>()
  const timer = setTimeout(silence.resolve, SILENCE_MS)
  await Promise.race([arrived, silence.promise])
  clearTimeout(timer)
}

function toRings(payload: string): readonly Ring[] {
  const rings: Ring[] = []
  for (const line of payload.split('\n')) {
    const [key = '', seq, , organization] = line.split(' ')
    if (kindOf(key) === null) continue
    rings.push({ key: key as ActorKey, seq: Number(seq) || 0, organization: organization || NO_ORGANIZATION })
  }
  return rings
}
