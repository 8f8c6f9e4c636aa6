/** The statements for rows of workers, and the sweeps, which find messages that no worker is working on. All times are the database's. */
import type { Query } from '../platform/db/pool.ts'
import { MAX_DEATH_PAUSE_S, WORKER_ENDED } from './claim-statements.ts'
import type { Running } from './running.ts'
import type { ActorKey } from './types.ts'

/** Registers a worker or renews its lease. Also registers a worker again whose row was deleted while it was paused. */
export async function beat(sql: Query, worker: string): Promise<void> {
  await sql`
    insert into worker (id) values (${worker})
    on conflict (id) do update set heartbeat_at = now()
    where not worker.is_accounted_for`
}

/**
 * Ends a worker at once: others may take over its actors without waiting for the lease. If it ended in the middle of turns, any of
 * them may have been the cause (`takeOver`).
 */
export async function removeWorker(sql: Query, worker: string): Promise<void> {
  await sql`delete from worker where id = ${worker}`
}

/**
 * Ends a worker when the cause of its end is known, so that taking over its actors counts no death. `culprit` is the message that
 * it ran, if any. That message gets an attempt and a death, and waits longer each time, so that it does not end worker after worker.
 */
export async function endWorker(sql: Query, worker: string, culprit: Running | null): Promise<void> {
  await sql`
    with ended as (
      update worker set is_accounted_for = true where id = ${worker} returning id
    )
    update actor_message m
    set attempts = m.attempts + 1,
      deaths = m.deaths + 1,
      last_error = ${WORKER_ENDED},
      available_at = now() + least(${MAX_DEATH_PAUSE_S}, 2 ^ least(m.deaths, 30)) * interval '1 second'
    from actor_mailbox a, ended
    where m.key = ${culprit?.key ?? null}
      and m.seq = ${culprit?.seq ?? null}
      and a.key = m.key
      and a.owner = ended.id`
}

/** Releases the actors whose turns a stopping worker could not end in time. Those turns are fenced off from then on. */
export async function giveBack(sql: Query, worker: string, keys: readonly ActorKey[]): Promise<void> {
  if (keys.length === 0) return
  await sql`
    with mine as (
      select key from actor_mailbox
      where key = any(${keys as ActorKey[]}::text[]) and owner = ${worker}
      order by key
      for no key update
    )
    update actor_mailbox a set owner = null
    from mine
    where a.key = mine.key`
}

/** Deletes the rows of workers whose last heartbeat is more than an hour old. */
export async function removeLostWorkers(sql: Query): Promise<void> {
  await sql`delete from worker where heartbeat_at < now() - interval '1 hour'`
}

export interface Due {
  readonly key: ActorKey
  readonly seq: number
  readonly type: string
  readonly organization: string
  /** `idle`: it has no owner. `mine`: this worker owns it but is not running it. `dead`: its owner's lease has run out. */
  readonly state: 'idle' | 'mine' | 'dead'
  /** Due for so long that its wake-up is probably lost. */
  readonly isOverdue: boolean
}

/** Seconds. A message that has been due for less time probably waits in a queue, and its wake-up has arrived. */
const WAKE_UP_LOST_AFTER = 10

const isOverdue = (sql: Query) => sql`m.available_at < now() - make_interval(secs => ${WAKE_UP_LOST_AFTER})`

export interface SweepOptions {
  readonly worker: string
  readonly leaseMs: number
  readonly kinds: readonly string[]
  /** Actors that this worker is running. */
  readonly running: readonly ActorKey[]
  readonly limit: number
}

/**
 * Finds due heads without a live owner, and due heads that this worker owns without running them (because its clean-up failed).
 * Oldest first. Only heads, because a message behind a waiting head cannot run.
 *
 * The filter on kinds does not use `= any`. With it the planner expects almost no rows, reads the whole backlog and sorts it
 * (0.4 s for 100,000 messages) instead of reading along the index on time until it has enough (8 ms).
 */
export async function sweep(sql: Query, options: SweepOptions): Promise<readonly Due[]> {
  const { worker, leaseMs } = options
  return sql<Due[]>`
    select m.key, m.seq, m.type, m.organization_id as organization,
      case when a.owner is null then 'idle' when a.owner = ${worker} then 'mine' else 'dead' end as state,
      ${isOverdue(sql)} as "isOverdue"
    from actor_message m
    join actor_mailbox a on a.key = m.key
    left join worker w
      on w.id = a.owner and not w.is_accounted_for
        and w.heartbeat_at > now() - ${leaseMs}::int * interval '1 millisecond'
    where m.available_at <= now()
      and (a.owner is null or w.id is null or a.owner = ${worker})
      and m.key <> all(${options.running as ActorKey[]}::text[])
      and array_position(${options.kinds as string[]}::text[], split_part(m.key, ':', 1)) is not null
      and not exists (select 1 from actor_message earlier where earlier.key = m.key and earlier.seq < m.seq)
    order by m.available_at
    limit ${options.limit}`
}

/**
 * Like `sweep`, but finds up to `limit` heads of each kind, in no order. It is for kinds that a backlog of other kinds hides from
 * `sweep`.
 *
 * It reads the kind's range of the primary key, so it does not read the backlog of the others (3 ms beside 100,000 messages; 80 ms
 * if the kind itself has as many that are not due). It does not sort and does not test the prefix exactly: the planner would then
 * expect almost no rows, read the whole range and sort it (1.2 s).
 */
export async function sweepByKind(sql: Query, options: SweepOptions): Promise<readonly Due[]> {
  const { worker, leaseMs, kinds } = options
  return sql<Due[]>`
    select due.key, due.seq, due.type, due.organization, due.state, due."isOverdue"
    from unnest(${kinds as string[]}::text[], ${kinds.map(endOf)}::text[]) as k (kind, kind_end)
    cross join lateral (
      select m.key, m.seq, m.type, m.organization_id as organization,
        case when a.owner is null then 'idle' when a.owner = ${worker} then 'mine' else 'dead' end as state,
        ${isOverdue(sql)} as "isOverdue"
      from actor_message m
      join actor_mailbox a on a.key = m.key
      left join worker w
        on w.id = a.owner and not w.is_accounted_for
        and w.heartbeat_at > now() - ${leaseMs}::int * interval '1 millisecond'
      where m.key >= k.kind
        and m.key < k.kind_end
        and m.available_at <= now()
        and (a.owner is null or w.id is null or a.owner = ${worker})
        and m.key <> all(${options.running as ActorKey[]}::text[])
        and not exists (select 1 from actor_message earlier where earlier.key = m.key and earlier.seq < m.seq)
      limit ${options.limit}
    ) due`
}

/** A text after all keys of a kind in any collation: the kind with its last character raised by one. Independent of the colon. */
function endOf(kind: string): string {
  return kind.slice(0, -1) + String.fromCharCode(kind.charCodeAt(kind.length - 1) + 1)
}

/**
 * The ids of organizations that have messages, due or not: at most `limit`, in order, beginning with `from`. Each costs one step
 * down the index, however many messages it has.
 */
export async function organizationsWaiting(
  sql: Query,
  from: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    with recursive waiting as (
      (
        select m.organization_id as id, 1 as n
        from actor_message m
        where m.organization_id >= ${from}::uuid
        order by m.organization_id
        limit 1
      )
      union all
      select next.id, w.n + 1
      from waiting w
      cross join lateral (
        select m.organization_id as id
        from actor_message m
        where m.organization_id > w.id
        order by m.organization_id
        limit 1
      ) next
      where w.n < ${limit}
    )
    select id from waiting`
  return rows.map(({ id }) => id)
}

/** How many of the oldest due messages of an organization and kind are read. Messages in hand hide the ones behind them. */
const LOOKED_AT = 50

/** Like `sweep`, but finds up to `limit` heads of each organization and kind, oldest first. */
export async function sweepByOrganization(
  sql: Query,
  organizations: readonly string[],
  { worker, leaseMs, kinds, running, limit }: SweepOptions,
): Promise<readonly Due[]> {
  return sql<Due[]>`
    select due.key, due.seq, due.type, due.organization, due.state, due."isOverdue"
    from unnest(${organizations as string[]}::uuid[]) as o (id)
    cross join unnest(${kinds as string[]}::text[]) as k (kind)
    cross join lateral (
      select m.key, m.seq, m.type, m.available_at, m.organization_id as organization,
        case when a.owner is null then 'idle' when a.owner = ${worker} then 'mine' else 'dead' end as state,
        ${isOverdue(sql)} as "isOverdue"
      from (
        select *
        from actor_message
        where organization_id = o.id
          and split_part(key, ':', 1) collate "C" = k.kind
          and available_at <= now()
        order by available_at
        limit ${LOOKED_AT}
      ) m
      join actor_mailbox a on a.key = m.key
      left join worker w
        on w.id = a.owner and not w.is_accounted_for
          and w.heartbeat_at > now() - ${leaseMs}::int * interval '1 millisecond'
      where (a.owner is null or w.id is null or a.owner = ${worker})
        and m.key <> all(${running as ActorKey[]}::text[])
        and not exists (select 1 from actor_message earlier where earlier.key = m.key and earlier.seq < m.seq)
      order by m.available_at
      limit ${limit}
    ) due
    order by due.available_at`
}

/** Counts worker threads whose heartbeat is at most `seconds` old, by the clock of the database. */
export async function countLiveWorkers(sql: Query, seconds: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from worker
    where not is_accounted_for
      and heartbeat_at > now() - ${seconds}::int * interval '1 second'`
  return row?.count ?? 0
}
