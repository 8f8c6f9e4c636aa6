/**
 * Dead letters, for operators: messages that failed until they were given up. Also lists the waiting messages.
 *
 * A retried message goes back under its own number. So it runs before all messages that still wait for its actor, and all of
 * them run in the order in which they were sent. (A copy sent at the end would run after them.) Messages that ran while it
 * was a dead letter do not run again: this is the price of not stopping the actor.
 */
import type { Alongside } from '../platform/db/alongside.ts'
import type { Json, Query, Sql } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { ActorKey, Notifier } from './types.ts'

export interface DeadLetter {
  readonly key: ActorKey
  readonly seq: number
  readonly type: string
  readonly payload: Json
  readonly attempts: number
  readonly lastError: string | null
  readonly deadSince: Date
}

/** Dead letters of one actor or of all, the newest first. */
export async function listDeadLetters(
  sql: Query,
  { key = null, limit = 100 }: { readonly key?: string | null; readonly limit?: number } = {},
): Promise<readonly DeadLetter[]> {
  return sql<DeadLetter[]>`
    select key, seq, type, payload, attempts, last_error as "lastError", parked_at as "deadSince"
    from actor_dead_letter
    where ${key}::text is null or key = ${key}
    order by parked_at desc, key, seq desc
    limit ${limit}`
}

/** Restricts a change to one organization, and adds a statement to its transaction. */
export interface Within {
  /** Null: the operator, who may change the messages of every organization. */
  readonly organizationId?: string | null
  readonly also?: Alongside
}

/**
 * Puts a dead letter back into its mailbox under its own number, resets its attempts, and sends a wake-up.
 * @returns false if there is no such dead letter, or it belongs to another organization than `within` names.
 */
export async function retryDeadLetter(
  deps: { readonly sql: Sql; readonly notifier: Notifier },
  key: string,
  seq: number,
  { organizationId = null, also }: Within = {},
): Promise<boolean> {
  const wakeUp = await transaction(deps.sql, async (tx) => {
    // Locks the actor's row first, as every turn does.
    await tx`select 1 from actor_mailbox where key = ${key} for no key update`
    const [dead] = await tx<{ key: ActorKey; type: string; payload: Json }[]>`
      delete from actor_dead_letter
      where key = ${key} and seq = ${seq}
        and (${organizationId}::uuid is null or organization_id = ${organizationId})
      returning key, type, payload`
    if (dead === undefined) return null
    await also?.(tx, null)
    await tx`
      insert into actor_message (key, seq, type, payload, organization_id)
      select key, ${seq}, ${dead.type}, ${tx.json(dead.payload)}, organization_id
      from actor_mailbox
      where key = ${key}`
    // `last_seq` rises although no message gets the number, so that an owner that is about to release reads the mailbox again.
    const [actor] = await tx<{ lastSeq: number; organization: string }[]>`
      update actor_mailbox set last_seq = last_seq + 1
      where key = ${key}
      returning last_seq as "lastSeq", organization_id as organization`
    return {
      key: dead.key,
      seq: actor?.lastSeq ?? seq,
      type: dead.type,
      ...(actor && { organization: actor.organization }),
    }
  })
  if (wakeUp === null) return false
  deps.notifier.notify([wakeUp])
  return true
}

/**
 * Drops a message permanently: a dead letter, or a failing message that still waits. Its actor continues with the next one.
 * A turn that is running the message at this moment commits nothing. Within an organization, a waiting message that has not
 * failed yet stays.
 * @returns false if there is no such message, or it belongs to another organization than `within` names.
 */
export async function skipMessage(
  deps: { readonly sql: Sql; readonly notifier: Notifier },
  key: string,
  seq: number,
  { organizationId = null, also }: Within = {},
): Promise<boolean> {
  const wakeUp = await transaction(deps.sql, async (tx) => {
    // Locks the actor's row first, as every turn does. `last_seq` rises so that an owner about to release reads the mailbox again.
    const [actor] = await tx<{ key: ActorKey; lastSeq: number; organization: string }[]>`
      update actor_mailbox set last_seq = last_seq + 1
      where key = ${key} and (${organizationId}::uuid is null or organization_id = ${organizationId})
      returning key, last_seq as "lastSeq", organization_id as organization`
    if (actor === undefined) return null
    const [skipped] = await tx<{ type: string }[]>`
      with dead as (
        delete from actor_dead_letter where key = ${key} and seq = ${seq} returning type
      ), waiting as (
        delete from actor_message
        where key = ${key} and seq = ${seq} and (${organizationId}::uuid is null or attempts > 0)
        returning type
      )
      select type from dead union all select type from waiting`
    if (skipped === undefined) return null
    await also?.(tx, null)
    const { lastSeq: newest, organization } = actor
    return { key: actor.key, seq: newest, type: skipped.type, organization }
  })
  if (wakeUp === null) return false
  deps.notifier.notify([wakeUp])
  return true
}

export interface WaitingActor {
  readonly key: ActorKey
  readonly waiting: number
  /** Seconds since the head became due; negative while it waits for its retry. */
  readonly headDueSeconds: number
  readonly headType: string
  readonly headSeq: number
  readonly headAttempts: number
  readonly headError: string | null
  readonly owner: string | null
}

/** Actors with messages, the one that has waited longest first. */
export async function listActors(sql: Query, limit = 100): Promise<readonly WaitingActor[]> {
  return sql<WaitingActor[]>`
    select
      h.key, w.waiting, a.owner,
      extract(epoch from now() - h.available_at)::float8 as "headDueSeconds",
      h.type as "headType", h.seq as "headSeq", h.attempts as "headAttempts", h.last_error as "headError"
    from (select key, min(seq) as seq, count(*) as waiting from actor_message group by key) w
    join actor_message h using (key, seq)
    join actor_mailbox a using (key)
    order by h.available_at
    limit ${limit}`
}
