/**
 * The doorbell on PostgreSQL LISTEN/NOTIFY, where there is no Redis. A notification reaches every worker; the claim
 * decides who does the work, and skips what another is claiming.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { EnvelopeSource, Ring } from './doorbell.ts'
import { createRinger } from './ringer.ts'
import { ACTOR_POOLS, type ActorKey, type Doorbell, type Envelope, kindOf, type Pool } from './types.ts'

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

/** One line an envelope, as many as fit into a notification: `key seq type`. */
function toNotes(envelopes: readonly Envelope[]): { channel: string; payload: string }[] {
  const notes: { channel: string; payload: string; bytes: number }[] = []
  const open = new Map<Pool, { channel: string; payload: string; bytes: number }>()
  for (const { key, seq, type } of envelopes) {
    const kind = kindOf(key)
    if (kind === null) continue
    const pool = ACTOR_POOLS[kind]
    const line = `${key} ${seq} ${type}\n`
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

/** Resolves when it listens. */
export async function createPostgresSource(sql: Sql, pool: Pool): Promise<EnvelopeSource> {
  const waiting = new Map<ActorKey, number>()
  let arrived = Promise.withResolvers<void>()
  let closed = false
  const wake = () => {
    arrived.resolve()
    arrived = Promise.withResolvers()
  }
  // The driver listens again by itself when the connection was lost; what was rung meanwhile is swept.
  const { unlisten } = await sql.listen(channelName(pool), (payload) => {
    for (const { key, seq } of toRings(payload)) {
      if (waiting.has(key) || waiting.size < MAX_WAITING)
        waiting.set(key, Math.max(seq, waiting.get(key) ?? 0))
    }
    wake()
  })

  return {
    async take(count) {
      if (waiting.size === 0 && !closed) await arrivedOrSilence(arrived.promise)
      const rings: Ring[] = []
      for (const [key, seq] of waiting) {
        if (rings.length >= count) break
        waiting.delete(key)
        rings.push({ key, seq })
      }
      return rings
    },
    async close() {
      closed = true
      waiting.clear()
      wake()
      await unlisten()
    },
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
    const [key = '', seq] = line.split(' ')
    if (kindOf(key) !== null) rings.push({ key: key as ActorKey, seq: Number(seq) || 0 })
  }
  return rings
}
