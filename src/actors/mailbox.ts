/**
 * Sending: the mailbox is the transactional outbox.
 *
 * The rule: a message is sent inside the caller's transaction, after its domain rows, and the notifier wake-ups after
 * COMMIT. The update of the `actor` row makes `seq` order equal commit order per key. Lock order for everybody:
 * domain rows first, `actor` rows last and in key order.
 */
import type { Query, Sql, Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { type ActorKey, type NewMessage, NO_ORGANIZATION, type Notifier, type WakeUp } from './types.ts'

/** Stores messages of any number of actors in one statement. At most one message per key in one call. */
export async function send(tx: Query, newMessages: readonly NewMessage[]): Promise<readonly WakeUp[]> {
  if (newMessages.length === 0) return []
  const sorted = newMessages.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  return tx<WakeUp[]>`
    with new_message as (
      select * from unnest(
        ${sorted.map((newMessage) => newMessage.key)}::text[],
        ${sorted.map((newMessage) => newMessage.type)}::text[],
        ${sorted.map((newMessage) => JSON.stringify(newMessage.payload ?? {}))}::text[],
        ${sorted.map((newMessage) => newMessage.delayMs ?? 0)}::int[],
        ${sorted.map((newMessage) => newMessage.organizationId ?? NO_ORGANIZATION)}::uuid[],
        ${sorted.map((newMessage) => Number(newMessage.unlessWaiting ?? false))}::int[]
      ) as l (key, type, payload, delay, organization, unless_waiting)
      where l.unless_waiting = 0
        or not exists (select 1 from actor_message m where m.key = l.key and m.type = l.type)
    ), ${numberAndStore(tx)}
    select s.key, s.seq, s.type, s.organization, l.delay as "delayMs" from sent s join new_message l using (key)`
}

/**
 * Like `send`, but leaves out a message whose key already has one of the same type waiting. Only for actors that read
 * everything from a watermark, and only where sender and turn lock the same domain row first: then a waiting message
 * is one whose turn has not read yet.
 */
export function sendUnlessWaiting(tx: Query, newMessages: readonly NewMessage[]): Promise<readonly WakeUp[]> {
  return send(
    tx,
    newMessages.map((newMessage) => ({ ...newMessage, unlessWaiting: true })),
  )
}

/**
 * The end of every statement that sends, for statements that do more than that: numbers and stores the rows of a table
 * `new_message (key, type, payload, delay, organization)` that comes before, the delay in milliseconds, and leaves the wake-ups in a table
 * `sent`. An actor's organization never changes; NO_ORGANIZATION is the smallest UUID, and gives way to the one that is known.
 */
export function numberAndStore(tx: Query) {
  return tx`
    numbered as (
      insert into actor_mailbox (key, last_seq, organization_id) select key, 1, organization from new_message order by key
      on conflict (key) do update
        set last_seq = actor_mailbox.last_seq + 1, organization_id = greatest(actor_mailbox.organization_id, excluded.organization_id)
      returning key, last_seq, organization_id
    ), sent as (
      insert into actor_message (key, seq, type, payload, available_at, organization_id)
      select
        n.key, n.last_seq, l.type, l.payload::jsonb, now() + l.delay * interval '1 millisecond', n.organization_id
      from numbered n
      join new_message l using (key)
      returning key, seq, type, organization_id as organization
    )`
}

/** Collects what a transaction sent, so that the notifier is told after COMMIT. */
export interface Outbox {
  send(newMessages: readonly NewMessage[]): Promise<void>
  sendUnlessWaiting(newMessages: readonly NewMessage[]): Promise<void>
}

/** Runs `work` in one transaction with an outbox, and notifies after COMMIT. */
export async function transactionWithOutbox<T>(
  deps: { readonly sql: Sql; readonly notifier: Notifier },
  work: (tx: Tx, outbox: Outbox) => Promise<T>,
): Promise<T> {
  let sent: WakeUp[] = []
  const result = await transaction(deps.sql, async (tx) => {
    sent = [] // a retried transaction starts over
    return work(tx, {
      send: async (newMessages) => void sent.push(...(await send(tx, newMessages))),
      sendUnlessWaiting: async (newMessages) => void sent.push(...(await sendUnlessWaiting(tx, newMessages))),
    })
  })
  if (sent.length > 0) deps.notifier.notify(sent)
  return result
}

/** Whether the actor has a message of this type waiting. To be asked under the domain row's lock, like `sendUnlessWaiting`. */
export async function isWaiting(tx: Query, key: ActorKey, type: string): Promise<boolean> {
  const [row] = await tx<{ waiting: boolean }[]>`
    select exists (select 1 from actor_message where key = ${key} and type = ${type}) as waiting`
  return row?.waiting ?? false
}

/**
 * Deletes actors with their messages and dead letters, together with what they act for and never before: a key that
 * came back would start its epochs anew. A turn that is under way finds no row for its fence and rolls back.
 */
export async function deleteActors(tx: Query, keys: readonly ActorKey[]): Promise<void> {
  const sorted = keys.toSorted()
  await Promise.all([
    tx`
      with locked as materialized (
        select key from actor_mailbox where key = any(${sorted}::text[]) order by key for update
      )
      delete from actor_mailbox where key in (select key from locked)`,
    tx`delete from actor_dead_letter where key = any(${sorted}::text[])`,
  ])
}
