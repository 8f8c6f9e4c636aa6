/**
 * Checks the tables at the end of a trial. Every rule is a query for its violations; the
 * report counts the rows.
 */
import type { Sql } from '../../../src/platform/db/pool.ts'
import { inForeground } from './lag.ts'
import { type Account, CREDITS, EVENTS_PER_SESSION, REQUESTS_PER_SESSION } from './load.ts'

export interface Audit {
  /** Events that were answered with 200 but are missing, unprocessed sessions, lost messages. */
  readonly lost: number
  /** Duplicate events, signals, billing units and turns. */
  readonly doubled: number
  /** Signals and turns before what precedes them in their session or mailbox; commits of a turn after it was taken away. */
  readonly outOfOrder: number
  /** One line for each violated rule. */
  readonly details: readonly string[]
}

interface Rule {
  readonly kind: 'lost' | 'doubled' | 'outOfOrder'
  readonly name: string
  readonly broken: number
}

/** To be called after the backlog has drained. `sessions`: the number of completely accepted conversations. */
export async function audit(sql: Sql, limited: Account, sessions: number): Promise<Audit> {
  const rules = [
    ...(await auditSessions(sql, sessions)),
    ...(await auditSignals(sql)),
    ...(await auditUnits(sql, limited)),
    ...(await auditProbes(sql)),
    ...(await auditMailboxes(sql)),
  ]
  const sum = (kind: Rule['kind']) =>
    rules.filter((rule) => rule.kind === kind).reduce((total, rule) => total + rule.broken, 0)
  return {
    lost: sum('lost'),
    doubled: sum('doubled'),
    outOfOrder: sum('outOfOrder'),
    details: rules
      .filter(({ broken }) => broken > 0)
      .map(({ kind, name, broken }) => `${kind}: ${broken} ${name}`),
  }
}

async function auditSessions(sql: Sql, sessions: number): Promise<readonly Rule[]> {
  const [row] = await sql<{ sessions: number; events: number; excess: number; unprocessed: number }[]>`
    select
      count(*) as sessions,
      coalesce(sum(greatest(0, ${EVENTS_PER_SESSION}::int - e.events)), 0)::int8 as events,
      coalesce(sum(greatest(0, e.events - ${EVENTS_PER_SESSION}::int)), 0)::int8 as excess,
      count(*) filter (
        where s.status <> 'ended' or s.processing_status <> 'completed' or s.watermark <> ${EVENTS_PER_SESSION}
      ) as unprocessed
    from agent_session s
    cross join lateral (select count(*) as events from agent_event where session_id = s.id) e`
  const [wrong] = await sql<{ count: number }[]>`
    select count(*) as count from agent_event
    where external_event_id <> left(type, 1) || sequence or revision <> 1`
  return [
    { kind: 'lost', name: 'sessions', broken: Math.max(0, sessions - (row?.sessions ?? 0)) },
    { kind: 'doubled', name: 'sessions', broken: Math.max(0, (row?.sessions ?? 0) - sessions) },
    { kind: 'lost', name: 'events', broken: row?.events ?? 0 },
    { kind: 'doubled', name: 'events', broken: (row?.excess ?? 0) + (wrong?.count ?? 0) },
    { kind: 'lost', name: 'sessions not processed to their end', broken: row?.unprocessed ?? 0 },
  ]
}

/** A signal is written in the transaction that processes its event, and those of a session follow one another. */
async function auditSignals(sql: Sql): Promise<readonly Rule[]> {
  const [row] = await sql<{ missing: number; excess: number }[]>`
    select
      coalesce(sum(greatest(0, ${REQUESTS_PER_SESSION}::int - g.signals)), 0)::int8 as missing,
      coalesce(sum(greatest(0, g.signals - ${REQUESTS_PER_SESSION}::int)), 0)::int8 as excess
    from agent_session s
    cross join lateral (
      select count(*) as signals from agent_signal where session_id = s.id and source = 'explicit_feedback'
    ) g`
  const [order] = await sql<{ count: number }[]>`
    select count(*) as count
    from (
      select
        created_at,
        max(created_at) over (partition by session_id order by sequence rows unbounded preceding) as latest
      from agent_signal
      where source = 'explicit_feedback'
    ) as processed
    where created_at < latest`
  return [
    { kind: 'lost', name: 'signals', broken: row?.missing ?? 0 },
    { kind: 'doubled', name: 'signals', broken: row?.excess ?? 0 },
    { kind: 'outOfOrder', name: 'signals', broken: order?.count ?? 0 },
  ]
}

async function auditUnits(sql: Sql, limited: Account): Promise<readonly Rule[]> {
  const [row] = await sql<{ missing: number; excess: number }[]>`
    select
      coalesce(sum(greatest(0, ${REQUESTS_PER_SESSION}::int - u.units)), 0)::int8 as missing,
      coalesce(sum(greatest(0, u.units - ${REQUESTS_PER_SESSION}::int)), 0)::int8 as excess
    from agent_session s
    cross join lateral (select count(*) as units from agent_usage where session_id = s.id) u`
  const [spent] = await sql<{ difference: number }[]>`
    select
      ${CREDITS}::int8 - o.response_credits - (
        select count(*) from agent_session s where s.organization_id = o.id
      ) * ${REQUESTS_PER_SESSION}::int as difference
    from organization o
    where o.id = ${limited.organizationId}`
  const difference = spent?.difference ?? 0
  return [
    { kind: 'lost', name: 'billing units', broken: row?.missing ?? 0 },
    { kind: 'doubled', name: 'billing units', broken: row?.excess ?? 0 },
    { kind: 'doubled', name: 'credits spent', broken: Math.max(0, difference) },
    { kind: 'lost', name: 'credits not spent', broken: Math.max(0, -difference) },
  ]
}

/** Ids follow the order of the commits of a key: each commit locks the actor before the next one may write. */
async function auditProbes(sql: Sql): Promise<readonly Rule[]> {
  const [row] = await sql<{ lost: number; doubled: number; disorder: number; intruders: number }[]>`
    select
      (
        select coalesce(sum(a.last_seq - (
          select count(distinct p.seq) from probe p where p.key = a.key and p.part = 0
        )), 0)::int8
        from actor_mailbox a
        where exists (select from probe p where p.key = a.key)
      ) as lost,
      (
        select count(*) from (select from probe where part = 0 group by key, seq having count(*) > 1) as twice
      ) as doubled,
      (
        select count(*)
        from (
          select seq, max(seq) over (partition by key order by id rows unbounded preceding) as latest from probe
        ) as processed
        where seq < latest
      ) as disorder,
      (
        select count(*)
        from (
          select
            token, lag(token) over (partition by key order by id) as before,
            min(id) over (partition by key, token) as first, id
          from probe
        ) as processed
        where token <> before and id <> first
      ) as intruders`
  return [
    { kind: 'lost', name: 'probes', broken: row?.lost ?? 0 },
    { kind: 'doubled', name: 'probes', broken: row?.doubled ?? 0 },
    { kind: 'outOfOrder', name: 'probes', broken: row?.disorder ?? 0 },
    { kind: 'outOfOrder', name: 'commits of turns that were taken away', broken: row?.intruders ?? 0 },
  ]
}

async function auditMailboxes(sql: Sql): Promise<readonly Rule[]> {
  const [row] = await sql<{ waiting: number; innocent: number }[]>`
    select
      (select count(*) from actor_message where ${inForeground(sql)}) as waiting,
      (select count(*) from actor_dead_letter where type not like 'poison%') as innocent`
  return [
    { kind: 'lost', name: 'messages left in their mailboxes', broken: row?.waiting ?? 0 },
    { kind: 'lost', name: 'dead letters of messages other than poison', broken: row?.innocent ?? 0 },
  ]
}
