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

/** A message that is left out repeats the wake-up of the waiting one if that is due within this time. */
const SOON_MS = 1_000

/**
 * Stores messages of any number of actors in one statement: at most one message per key in one call.
 *
 * A message that is sent `unless: 'waiting'` is left out if one of its type waits that no turn has begun. The mailbox is locked first
 * and stays locked until the sender commits, and a worker needs that lock before it reads the mailbox. So the turn of the waiting
 * message sees everything that this transaction writes. The earlier time of the two holds.
 *
 * A claim skips a locked mailbox, and the wake-up of the waiting message may be spent by that. So it is sent once more.
 */
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
        ${sorted.map((newMessage) => newMessage.unless ?? 'never')}::text[]
      ) as l (key, type, payload, delay, organization, unless)
      cross join lateral (
        select coalesce(max(m.seq), 0) as present, min(m.available_at) as due
        from actor_message m
        where l.unless <> 'never' and m.key = l.key and m.type = l.type
      ) of_type
      where l.unless <> 'present' or of_type.present = 0
    ), ${numberAndStore(tx, tx`case unless when 'waiting' then present else 0 end`)}, hastened as (
      update actor_message m set available_at = now() + l.delay * interval '1 millisecond'
      from new_message l
      where l.unless = 'waiting' and m.key = l.key and m.type = l.type and m.attempts = 0
        and m.available_at > now() + l.delay * interval '1 millisecond'
        and (select count(*) from numbered) >= 0 -- every mailbox is locked before any message
    )
    select s.key, s.seq, s.type, s.organization, l.delay as "delayMs" from sent s join new_message l using (key)
    union all
    select l.key, l.present, l.type, l.organization, waits.ms::int
    from new_message l
    cross join lateral (
      select least(l.delay, greatest(0, extract(epoch from l.due - now()) * 1000)) as ms
    ) waits
    where l.present > 0
      and l.key not in (select key from numbered)
      and (waits.ms < ${SOON_MS} or l.due > now() + l.delay * interval '1 millisecond')`
}

/**
 * The last part of every statement that sends messages. It numbers and stores the rows of the preceding table
 * `new_message (key, type, payload, delay, organization)`, with the delay in milliseconds, and leaves the wake-ups in the table
 * `sent`. An actor's organization never changes. NO_ORGANIZATION is the smallest UUID, so a known organization replaces it.
 *
 * `waiting` is the number of the newest message beside which a row is left out, or 0. It is compared with `begun_seq` of the locked
 * mailbox. A subquery would keep the snapshot from before the lock, so the number travels in the column `begun_seq` of the new row.
 */
export function numberAndStore(tx: Query, waiting = tx`0`) {
  return tx`
    numbered as (
      insert into actor_mailbox (key, last_seq, organization_id, begun_seq)
      select key, 1, organization, ${waiting} from new_message order by key
      on conflict (key) do update
        set last_seq = actor_mailbox.last_seq + 1, organization_id = greatest(actor_mailbox.organization_id, excluded.organization_id)
        where excluded.begun_seq <= actor_mailbox.begun_seq
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
  /** Leaves out messages beside waiting ones (`NewMessage.unless`). */
  sendUnlessWaiting(newMessages: readonly NewMessage[]): Promise<void>
  /** Leaves out messages beside waiting and running ones. Only for tasks that send them again as long as they are due. */
  sendUnlessPresent(newMessages: readonly NewMessage[]): Promise<void>
}

/** Runs `work` in one transaction with an outbox, and notifies after COMMIT. */
export async function transactionWithOutbox<T>(
  deps: { readonly sql: Sql; readonly notifier: Notifier },
  work: (tx: Tx, outbox: Outbox) => Promise<T>,
): Promise<T> {
  let sent: WakeUp[] = []
  const result = await transaction(deps.sql, async (tx) => {
    sent = [] // a retried transaction starts over
    const sending = (unless: NewMessage['unless']) => async (newMessages: readonly NewMessage[]) =>
      void sent.push(
        ...(await send(
          tx,
          unless === undefined ? newMessages : newMessages.map((one) => ({ ...one, unless })),
        )),
      )
    return work(tx, {
      send: sending(undefined),
      sendUnlessWaiting: sending('waiting'),
      sendUnlessPresent: sending('present'),
    })
  })
  if (sent.length > 0) deps.notifier.notify(sent)
  return result
}

/** Whether a message of this type waits for the actor or is in a turn. Call it under a lock that the turn needs to finish. */
export async function isPresent(tx: Query, key: ActorKey, type: string): Promise<boolean> {
  const [row] = await tx<{ present: boolean }[]>`
    select exists (select 1 from actor_message where key = ${key} and type = ${type}) as present`
  return row?.present ?? false
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
