/** What waits, and what was given up, of one organization: for its administrators. Without payloads and texts of errors. */
import { asMicroseconds, fromMicroseconds, type Slice } from '../platform/db/keyset.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import { deleteActors } from './mailbox.ts'
import type { ActorKey } from './types.ts'

export interface WaitingMessage {
  readonly key: string
  readonly kind: string
  readonly seq: number
  readonly type: string
  /** Failed attempts. */
  readonly attempts: number
  /** When the next attempt is due. */
  readonly availableAt: Date
  readonly availableMicroseconds: number
}

export type WaitingPlace = readonly [kind: string, microseconds: number, key: string, seq: number]

/** By kind, then the longest wait first; with one row more than the limit. Reads the index of messages by organization. */
export function listWaitingMessages(
  sql: Query,
  organizationId: string,
  kind: string | undefined,
  { after, limit }: Slice<WaitingPlace>,
) {
  const kindOf = sql`(split_part(m.key, ':', 1) collate "C")`
  return sql<WaitingMessage[]>`
    select m.key, ${kindOf} as kind, m.seq, m.type, m.attempts, m.available_at as "availableAt",
      ${asMicroseconds(sql, 'm.available_at')} as "availableMicroseconds"
    from actor_message m
    where m.organization_id = ${organizationId}
      ${kind === undefined ? sql`` : sql`and ${kindOf} = ${kind}`}
      ${
        after === null
          ? sql``
          : sql`and (${kindOf}, m.available_at, m.key, m.seq)
              > (${after[0]}, ${fromMicroseconds(sql, after[1])}, ${after[2]}, ${after[3]}::bigint)`
      }
    order by ${kindOf}, m.available_at, m.key, m.seq
    limit ${limit + 1}`
}

/** Makes due now what was sent with a delay that ends within `withinMs`. Failed messages keep their pause. The sweep finds them. */
export async function bringForward(sql: Query, organizationId: string, withinMs: number): Promise<void> {
  await sql`
    update actor_message set available_at = now()
    where organization_id = ${organizationId} and attempts = 0
      and available_at > now() and available_at < now() + ${withinMs}::int * interval '1 millisecond'`
}

/**
 * Deletes actors of the organization that have messages, whose turns then come to nothing. Their rows are being deleted, so it does not matter
 * that a key may come back. @returns the number of actors, at most `limit`
 */
export async function stopActors(
  tx: Tx,
  organizationId: string,
  { except, limit }: { readonly except: string; readonly limit: number },
): Promise<number> {
  const rows = await tx<{ key: ActorKey }[]>`
    select distinct key
    from actor_message
    where organization_id = ${organizationId} and split_part(key, ':', 1) <> ${except}
    limit ${limit}`
  await deleteActors(
    tx,
    rows.map(({ key }) => key),
  )
  return rows.length
}

export interface OwnDeadLetter {
  readonly key: string
  readonly seq: number
  readonly type: string
  readonly attempts: number
  readonly deadSince: Date
  readonly deadMicroseconds: number
}

export type DeadPlace = readonly [microseconds: number, key: string, seq: number]

/** Newest first, with one row more than the limit. */
export function listOwnDeadLetters(
  sql: Query,
  organizationId: string,
  key: string | undefined,
  { after, limit }: Slice<DeadPlace>,
) {
  return sql<OwnDeadLetter[]>`
    select d.key, d.seq, d.type, d.attempts, d.parked_at as "deadSince",
      ${asMicroseconds(sql, 'd.parked_at')} as "deadMicroseconds"
    from actor_dead_letter d
    where d.organization_id = ${organizationId}
      ${key === undefined ? sql`` : sql`and d.key = ${key}`}
      ${
        after === null
          ? sql``
          : sql`and (d.parked_at, d.key, d.seq) < (${fromMicroseconds(sql, after[0])}, ${after[1]}, ${after[2]}::bigint)`
      }
    order by d.parked_at desc, d.key desc, d.seq desc
    limit ${limit + 1}`
}

/** Rows that are counted at most, so that a long backlog costs no more than a short one. */
const MOST_COUNTED = 1_000

export interface Backlog {
  /** At most `MOST_COUNTED`. */
  readonly waiting: number
  /** When the first of the counted messages was due. Null: none waits, or none is due. */
  readonly dueSince: Date | null
  readonly deadLetters: number
}

/** Reads the index of messages by organization, and that of dead letters. */
export async function backlogOf(sql: Query, organizationId: string): Promise<Backlog> {
  const [row] = await sql<Backlog[]>`
    select count(*)::int as waiting,
      min(available_at) filter (where available_at <= now()) as "dueSince",
      (
        select count(*)::int
        from (select 1 from actor_dead_letter where organization_id = ${organizationId} limit ${MOST_COUNTED}) d
      ) as "deadLetters"
    from (
      select available_at from actor_message where organization_id = ${organizationId} limit ${MOST_COUNTED}
    ) m`
  return row ?? { waiting: 0, dueSince: null, deadLetters: 0 }
}
