/**
 * The statements with which an owner ends turns and gives actors back, each with the reason for its form. README.md describes the whole protocol.
 *
 * Only the database's `now()` judges time. Rows of `actor_mailbox` are locked in key order. Statements take many actors at once,
 * because many short turns share one transaction.
 */
import type { Query } from '../platform/db/pool.ts'
import { epochsOf, type Held, keysOf } from './claim-statements.ts'
import { type ActorKey, Fenced, type Message } from './types.ts'

/**
 * The fence in the middle of a long turn, after the domain's statements and the messages. `fenceAndRelease` is the fence at the
 * end of turns.
 *
 * `for share` conflicts with the update of a claim: a takeover waits for a commit in flight, and a late commit finds a newer
 * epoch. (`for key share` is not enough: an update of `epoch` does not conflict with it.)
 * @throws Fenced unless all of `held` are still ours.
 */
export async function fence(tx: Query, worker: string, held: readonly Held[]): Promise<void> {
  const rows = await tx`
    select 1
    from unnest(${keysOf(held)}::text[], ${epochsOf(held)}::bigint[]) as h (key, epoch)
    join actor_mailbox a on a.key = h.key and a.epoch = h.epoch
    where a.owner = ${worker}
    order by a.key
    for share of a`
  assertAll(rows.length, held)
}

/** An actor at the end of its turns. */
export interface Releasing extends Held {
  /** The number of the newest message that was read: the actor is released unless there is a newer one. Null: it is kept. */
  readonly lastSeq: number | null
}

/**
 * Fences and releases in one statement, and so with one lock, after the domain's statements in every transaction that ends
 * turns. A message to the actor that was sent before this keeps the actor owned; a message sent later has its own wake-up.
 * `no key update` is the lock of a release. It conflicts with a claim, as `share` does.
 * An actor that stays owned is read again, so what it has by now counts as begun (`begun_seq`).
 * @returns the actors that were released
 * @throws Fenced unless all of `releasing` are still ours.
 */
export async function fenceAndRelease(
  tx: Query,
  worker: string,
  releasing: readonly Releasing[],
): Promise<ReadonlySet<ActorKey>> {
  const rows = await tx<{ key: ActorKey; idle: boolean | null }[]>`
    with mine as (
      select a.key, a.last_seq = s.last_seq as idle
      from unnest(
        ${keysOf(releasing)}::text[], ${epochsOf(releasing)}::bigint[], ${releasing.map((s) => s.lastSeq)}::bigint[]
      ) as s (key, epoch, last_seq)
      join actor_mailbox a on a.key = s.key and a.epoch = s.epoch
      where a.owner = ${worker}
      order by a.key
      for no key update of a
    ), released as (
      update actor_mailbox a
      set owner = case when mine.idle then null else a.owner end,
        begun_seq = case when mine.idle then a.begun_seq else a.last_seq end
      from mine
      where a.key = mine.key and (mine.idle or a.begun_seq < a.last_seq)
    )
    select key, idle from mine`
  assertAll(rows.length, releasing)
  return new Set(rows.filter(({ idle }) => idle).map(({ key }) => key))
}

function assertAll(found: number, held: readonly Held[]): void {
  if (found !== held.length) throw new Fenced(`${held.length - found} of ${held.length} actors are lost`)
}

/** Messages of one actor whose numbers follow each other without a gap. */
interface Run {
  readonly key: ActorKey
  readonly first: number
  last: number
  /** 1 for the first run of its actor. Not a boolean: the driver mistakes a list of booleans for one boolean. */
  readonly leads: 0 | 1
}

/**
 * Removes the handled messages: the first ones of each actor, in order. The number of removed rows makes the handling
 * exactly-once.
 *
 * It names the messages by runs without gaps. So it cannot remove a row that is not in `messages`, such as a dead letter that
 * comes back between two of them, and an equal number of rows means the same rows.
 *
 * No message may stand before them. Workers do not wait for the disk, so a crash of the server can undo the previous turn and
 * still keep the claim. Then the fence passes although the earlier message is back.
 * @throws Fenced unless all of them were there, and none before.
 */
export async function remove(tx: Query, messages: readonly Message[]): Promise<void> {
  if (messages.length === 0) return
  const runs = runsOf(messages)
  const deleted = await tx`
    delete from actor_message m
    using unnest(
      ${runs.map((run) => run.key)}::text[],
      ${runs.map((run) => run.first)}::bigint[],
      ${runs.map((run) => run.last)}::bigint[],
      ${runs.map((run) => run.leads)}::int[]
    ) as d (key, first, last, leads)
    where m.key = d.key
      and m.seq between d.first and d.last
      and (d.leads = 0 or not exists (select from actor_message e where e.key = d.key and e.seq < d.first))`
  if (deleted.count !== messages.length)
    throw new Fenced('a message of this turn is gone, or one before it is back')
}

function runsOf(messages: readonly Message[]): readonly Run[] {
  const runs: Run[] = []
  for (const { key, seq } of messages) {
    const run = runs.at(-1)
    if (run?.key === key && run.last + 1 === seq) run.last = seq
    else runs.push({ key, first: seq, last: seq, leads: run?.key === key ? 0 : 1 })
  }
  return runs
}

/** The check of `remove`, for a transaction in the middle of a turn. @throws Fenced unless the message is the head. */
export async function assertHead(tx: Query, { key, seq }: Message): Promise<void> {
  const [row] = await tx<{ head: number | null }[]>`
    select min(seq) as head from actor_message where key = ${key}`
  if (row?.head !== seq) throw new Fenced('the message of this turn is not the head any more')
}

/**
 * Releases actors, unless a message arrived since `last_seq` was read. A key that is missing in the answer has more to do, and what
 * it has by now counts as begun (`begun_seq`).
 *
 * It does not use `not exists (select … from actor_message)`: a subquery keeps the old snapshot while the statement waits for a
 * sender's lock, and the wake-up would be lost. PostgreSQL repeats a comparison on the locked row itself.
 */
export async function release(
  sql: Query,
  worker: string,
  seen: readonly (Held & { readonly lastSeq: number })[],
): Promise<ReadonlySet<ActorKey>> {
  if (seen.length === 0) return new Set()
  const rows = await sql<{ key: ActorKey }[]>`
    with mine as (
      select a.key, a.last_seq = s.last_seq as idle
      from unnest(
        ${keysOf(seen)}::text[], ${epochsOf(seen)}::bigint[], ${seen.map((s) => s.lastSeq)}::bigint[]
      ) as s (key, epoch, last_seq)
      join actor_mailbox a on a.key = s.key and a.epoch = s.epoch
      where a.owner = ${worker}
      order by a.key
      for no key update of a
    ), released as (
      update actor_mailbox a
      set owner = case when mine.idle then null else a.owner end,
        begun_seq = case when mine.idle then a.begun_seq else a.last_seq end
      from mine
      where a.key = mine.key
    )
    select key from mine where idle`
  return new Set(rows.map((row) => row.key))
}

/** Releases actors even if messages wait for them: the caller makes sure that they run again. */
export async function abandon(sql: Query, worker: string, held: readonly Held[]): Promise<void> {
  if (held.length === 0) return
  await sql`
    with mine as (
      select a.key
      from unnest(${keysOf(held)}::text[], ${epochsOf(held)}::bigint[]) as h (key, epoch)
      join actor_mailbox a on a.key = h.key and a.epoch = h.epoch
      where a.owner = ${worker}
      order by a.key
      for no key update of a
    )
    update actor_mailbox a set owner = null
    from mine
    where a.key = mine.key`
}

/**
 * Records a failed attempt, or a turn that is put off, makes the message wait, and releases the actor, all in one statement.
 * @throws Fenced if the actor is no longer ours; then nothing was recorded.
 */
export async function recordFailure(
  sql: Query,
  worker: string,
  held: Held,
  failure: {
    readonly seq: number
    readonly error: string
    readonly delayMs: number
    /** True if the attempt does not use up one of those that the message has. */
    readonly isFree?: boolean
  },
): Promise<void> {
  const updated = await sql`
    with mine as (
      select key from actor_mailbox
      where key = ${held.key} and epoch = ${held.epoch} and owner = ${worker}
      for no key update
    ), failed as (
      update actor_message m
      set attempts = greatest(m.attempts + ${failure.isFree === true ? 0 : 1}::int, 1),
        last_error = ${failure.error},
        available_at = now() + ${failure.delayMs}::int * interval '1 millisecond'
      from mine
      where m.key = mine.key and m.seq = ${failure.seq}
    )
    update actor_mailbox a set owner = null
    from mine
    where a.key = mine.key`
  if (updated.count === 0) throw new Fenced('the actor was lost before its failure was recorded')
}

/**
 * Copies a message to the dead letters. `fenceAndRelease` and `remove` follow in the same transaction.
 * @param error of this attempt, where the message is given up before it is spent
 */
export async function deadLetter(tx: Query, message: Message, error: string | null = null): Promise<void> {
  await tx`
    insert into actor_dead_letter (key, seq, type, payload, attempts, last_error)
    select key, seq, type, payload, attempts + ${error === null ? 0 : 1}::int, coalesce(${error}, last_error)
    from actor_message
    where key = ${message.key} and seq = ${message.seq}`
}

/** @returns those of `held` that are still ours */
export async function stillHeld(
  sql: Query,
  worker: string,
  held: readonly Held[],
): Promise<ReadonlySet<ActorKey>> {
  const rows = await sql<{ key: ActorKey }[]>`
    select a.key
    from unnest(${keysOf(held)}::text[], ${epochsOf(held)}::bigint[]) as h (key, epoch)
    join actor_mailbox a on a.key = h.key and a.epoch = h.epoch
    where a.owner = ${worker}`
  return new Set(rows.map((row) => row.key))
}
