/**
 * The mailbox reads that begin a turn.
 *
 * `last_seq` and the messages of a mailbox come from one snapshot; otherwise `release` could overlook a message.
 */
import type { Json, Query } from '../platform/db/pool.ts'
import { claiming, epochsOf, type Held, keysOf } from './claim-statements.ts'
import type { ActorKey, Message } from './types.ts'

/** The mailbox of an actor that is still ours. */
export interface Mailbox {
  /** The number of the newest message that was looked for; `release` compares it. */
  readonly lastSeq: number
  /** The organization that the work belongs to. */
  readonly organization: string
  /** Due messages from the head on, in order, at most as many as asked for. Empty if there are none or the head is not due. */
  readonly due: readonly WaitingMessage[]
  /** True if `due` holds every due message: after these, the actor may be released. */
  readonly complete: boolean
}

export interface WaitingMessage extends Message {
  readonly lastError: string | null
  readonly deaths: number
}

export interface Claimed extends Held {
  /** Null if it has to be read again. */
  readonly mailbox: Mailbox | null
}

/** A mailbox in columns, all in the order of the messages. Null if there are no messages. */
interface MailboxRow {
  readonly key: ActorKey
  readonly lastSeq: number
  readonly organization: string
  readonly seqs: readonly number[] | null
  readonly types: readonly string[]
  readonly payloads: readonly Json[]
  /** The number of the first message that is not due yet. */
  readonly waits_from: number | null
  /** The messages that were tried before. */
  readonly tried: readonly Tried[] | null
}

type Tried = readonly [seq: number, attempts: number, deaths: number, lastError: string | null]

/**
 * Reads the first `limit` messages of each actor and checks the ownership. If a key is missing in the answer, another worker
 * has taken it over: stop at once.
 *
 * It reads the messages that count as begun (`begun_seq`). If there are newer ones, the next release fails and makes them count.
 */
export async function readMailboxes(
  sql: Query,
  worker: string,
  held: readonly Held[],
  limit: number,
): Promise<ReadonlyMap<ActorKey, Mailbox>> {
  const rows = await sql<MailboxRow[]>`
    select a.key, a.begun_seq as "lastSeq", a.organization_id as organization, m.*
    from unnest(${keysOf(held)}::text[], ${epochsOf(held)}::bigint[]) as h (key, epoch)
    join actor_mailbox a on a.key = h.key and a.epoch = h.epoch
    cross join lateral (${firstMessages(sql, limit)}) m
    where a.owner = ${worker}`
  return new Map(rows.map((row) => [row.key, toMailbox(row, limit)]))
}

/**
 * Claims actors and reads their mailboxes in one statement.
 *
 * It reads with the snapshot from before its locks. That snapshot is current if the actor had no owner then and no other claim
 * came since, so that the epoch rose by exactly one. Otherwise the answer contains no mailbox, because a COMMIT on its way may
 * just have removed the messages that were seen.
 */
export async function claimAndRead(
  sql: Query,
  worker: string,
  keys: readonly ActorKey[],
  limit: number,
): Promise<readonly Claimed[]> {
  const rows = await sql<(Omit<MailboxRow, 'lastSeq'> & { epoch: number; lastSeq: number | null })[]>`
    with ${claiming(sql, worker, keys)}
    select a.key, a.epoch, a.organization_id as organization, before.last_seq as "lastSeq", m.*
    from taken a
    left join actor_mailbox before on before.key = a.key and before.epoch = a.epoch - 1 and before.owner is null
    cross join lateral (${firstMessages(sql, limit)}) m`
  return rows.map(({ epoch, lastSeq, ...row }) => ({
    key: row.key,
    epoch,
    mailbox: lastSeq === null ? null : toMailbox({ ...row, lastSeq }, limit),
  }))
}

/**
 * The mailbox of `a.key` as one row. It is in columns, because a row or a JSON object per message costs the server, the driver and
 * the network more than twice as much. It reads one message more than asked for, to learn whether there are more.
 */
function firstMessages(sql: Query, limit: number) {
  return sql`
    select
      json_agg(first.seq) as seqs,
      json_agg(first.type) as types,
      json_agg(first.payload) as payloads,
      min(first.seq) filter (where first.available_at > now()) as waits_from,
      json_agg(json_build_array(first.seq, first.attempts, first.deaths, first.last_error))
        filter (where first.attempts > 0) as tried
    from (
      select * from actor_message where key = a.key and seq <= a.begun_seq order by seq limit ${limit + 1}
    ) first`
}

function toMailbox(row: MailboxRow, limit: number): Mailbox {
  const { key, lastSeq, organization, seqs, types, payloads, waits_from: waitsFrom, tried } = row
  if (seqs === null) return { lastSeq, organization, due: [], complete: true }
  // Strict order: a message that waits for its retry holds up its key.
  const dueCount = waitsFrom === null ? seqs.length : seqs.indexOf(waitsFrom)
  const id = key.slice(key.indexOf(':') + 1)
  const due: WaitingMessage[] = []
  for (let at = 0; at < Math.min(dueCount, limit); at++) {
    const seq = seqs[at]!
    const [, attempts, deaths, lastError] = tried?.find(([one]) => one === seq) ?? NEVER_TRIED
    due.push({ key, id, seq, type: types[at]!, payload: payloads[at]!, attempts, deaths, lastError })
  }
  return { lastSeq, organization, due, complete: dueCount <= limit }
}

const NEVER_TRIED: Tried = [0, 0, 0, null]
