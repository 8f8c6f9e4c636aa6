/**
 * Sends messages. The mailbox is the transactional outbox.
 *
 * The caller sends a message inside its own transaction, after its domain rows, and the notifier sends the wake-up after COMMIT.
 * The update of the row in `actor_mailbox` makes `seq` order equal commit order per key. Every transaction locks domain rows first,
 * and rows of `actor_mailbox` last and in key order.
 */
import type { Query, Sql, Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { type ActorKey, type NewMessage, NO_ORGANIZATION, type Notifier, type WakeUp } from './types.ts'

/** Stores messages of any number of actors in one statement: at most one message per key in one call. */
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
 * Like `send`, but leaves out a message if one of the same type already waits for its key. Use it only for actors that read
 * everything from a watermark, and only if sender and turn lock the same domain row first. Then the turn of a waiting message
 * has not read yet.
 */
function sendUnlessWaiting(tx: Query, newMessages: readonly NewMessage[]): Promise<readonly WakeUp[]> {
  return send(
    tx,
    newMessages.map((newMessage) => ({ ...newMessage, unlessWaiting: true })),
  )
}

/**
 * The last part of every statement that sends messages. It numbers and stores the rows of the preceding table
 * `new_message (key, type, payload, delay, organization)`, with the delay in milliseconds, and leaves the wake-ups in the table
 * `sent`. An actor's organization never changes. NO_ORGANIZATION is the smallest UUID, so a known organization replaces it.
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

/** Collects the wake-ups of a transaction's messages, for the notifier to send after COMMIT. */
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

/** Whether a message of this type waits for the actor. Call it under the domain row's lock, like `sendUnlessWaiting`. */
export async function isWaiting(tx: Query, key: ActorKey, type: string): Promise<boolean> {
  const [row] = await tx<{ waiting: boolean }[]>`
    select exists (select 1 from actor_message where key = ${key} and type = ${type}) as waiting`
  return row?.waiting ?? false
}

/**
 * Makes messages of this type due that were sent to the actor with a delay, because it has ended what they wait for. Call it after
 * `send` to the same actor in the same transaction: that locks the mailbox, and its wake-up serves these messages, too. Failed
 * messages keep their pause.
 */
export async function hasten(tx: Tx, key: ActorKey, type: string): Promise<void> {
  await tx`
    update actor_message set available_at = now()
    where key = ${key} and type = ${type} and attempts = 0 and available_at > now()`
}

/**
 * Deletes actors with their messages and dead letters. Call it together with deleting their domain rows, never before: a key
 * that came back would start its epochs again. A running turn finds no row for its fence and rolls back.
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
