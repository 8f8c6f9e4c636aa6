/**
 * The SQL that counts.
 *
 * A count is the sum of the folded counts and of the changes that are not folded yet (`fold.store.ts`), in one statement, so a fold that
 * commits meanwhile is seen wholly or not at all. What the caller may not see is left out: conversations by their application. Recordings
 * in private folders of others are subtracted, because there are few of them and folders change.
 */
import type { SignalKind } from '../../hear/agents/model.ts'
import { kindsMeant } from '../../hear/agents/reads/signals.rules.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { type Days, hasTheme, levelOf } from './counts.rules.ts'
import type { Counted, CountRequest, Key } from './model.ts'
import type { Fragment } from './period.store.ts'

export const MAX_GROUPS = 10_000

export interface CountRow {
  readonly first: string | null
  readonly second: string | null
  readonly count: number
  /** Of all groups, also of those that are not shown. */
  readonly total: number
  readonly groups: number
}

/** What the caller may see. */
export interface CountAccess {
  readonly organizationId: string
  /** Ids of the applications whose conversations the caller may see, as a query. */
  readonly applications: Fragment
  /** Ids of the recordings that the caller may not see, as a query. */
  readonly hiddenRecordings: Fragment
}

/** The time zone by whose days the organization counts, and whether all its rows have moved to these days. */
export async function readTimeZone(
  tx: Tx,
  organizationId: string,
): Promise<{ readonly timeZone: string; readonly isCounted: boolean }> {
  const [row] = await tx<{ timeZone: string; isCounted: boolean }[]>`
    select o.time_zone as "timeZone",
      not exists (select from day_recount r where r.organization_id = o.id) as "isCounted"
    from organization o
    where o.id = ${organizationId}`
  return row ?? { timeZone: 'UTC', isCounted: true }
}

/** Whatever the statistics say, no plan reads a whole table: they may be missing after a burst. */
export async function prepareCounts(tx: Tx, timeoutMs: number): Promise<void> {
  await tx`
    select
      set_config('statement_timeout', ${String(timeoutMs)}, true), set_config('work_mem', '32MB', true),
      set_config('max_parallel_workers_per_gather', '0', true), set_config('jit', 'off', true)`
}

export interface CountedRequest extends Omit<CountRequest, 'metric'> {
  readonly metric: Counted
}

export function countRows(tx: Tx, access: CountAccess, request: CountedRequest, days: Days) {
  const { organizationId } = access
  const [first = 'day', second] = request.by
  const counted = hasTheme(request) ? themed(tx, access, days) : folded(tx, access, request, days)
  return tx<CountRow[]>`
    with grouped as (
      select ${rawKey(tx, first)} as first, ${rawKey(tx, second)} as second, sum(c.count) as count
      from (${counted}) as c
      where ${conditions(tx, access, request)}
      group by 1, 2
    ), named as (
      select ${shownKey(tx, first, 'first', organizationId)} as first, ${shownKey(tx, second, 'second', organizationId)} as second, sum(g.count) as count
      from grouped g
      group by 1, 2
      having sum(g.count) <> 0
    )
    select
      named.first, named.second, named.count::float8 as count, (sum(named.count) over ())::float8 as total,
      (count(*) over ())::int as groups
    from named
    order by ${isTime(first) ? tx`named.first desc nulls last,` : tx``} named.count desc, named.first, named.second
    limit ${MAX_GROUPS}`
}

/** The folded counts, and the changes that are not folded yet. */
function folded(tx: Tx, access: CountAccess, request: CountedRequest, days: Days): Fragment {
  const { metric, by } = request
  const { organizationId } = access
  // The subqueries are computed once, the casts would be for every row.
  const inDays = (column: string) => tx`
    ${tx(column)} >= (select ${days.from}::text::date) and ${tx(column)} < (select ${days.to}::text::date)`
  const isByDay = by.includes('day')
  // Days of one dimension are added up before they are joined with it.
  const sums = tx`
    select ${timeOf(tx, by, 'c')} as day, c.dimension_id, ${isByDay ? tx`c.count` : tx`sum(c.count)`} as count
    from insight_count c
    where c.organization_id = ${organizationId}
      and c.metric = ${metric}
      and c.level = ${levelOf(request)}::smallint
      and ${inDays('c.day')}
    ${isByDay ? tx`` : tx`group by 1, 2`}`
  return tx`
    select
      f.day, d.channel, d.application_id, d.source, d.kind, d.rating, d.status, d.product_area, d.agent_version, f.count
    from (${sums}) as f
    join insight_dimension d on d.organization_id = ${organizationId} and d.id = f.dimension_id
    union all
    select
      ${timeOf(tx, by, 'n')}, n.channel, n.application_id, n.source, n.kind, n.rating, n.status, n.product_area, n.agent_version,
      n.change
    from insight_count_change n
    where n.organization_id = ${organizationId}
      and n.metric = ${metric}
      and ${inDays('n.day')}
    ${hidden(tx, access, request, days)}`
}

/**
 * The signals in themes. A theme changes its members all the time, so these are counted from the rows: by theme and time, as far as the
 * period goes.
 */
const themed = (tx: Tx, { organizationId, hiddenRecordings }: CountAccess, days: Days) => tx`
  select
    (g.occurred_at at time zone ${days.timeZone}::text)::date as day, g.channel, g.application_id, null as source, g.kind, g.rating, null as status,
    g.product_area, g.agent_version, 1 as count, t.id as theme
  from theme t
  join theme_item i on i.theme_id = t.id
  join agent_signal g on g.organization_id = t.organization_id and g.id = i.signal_id
  where t.organization_id = ${organizationId}
    and not t.hidden
    and i.occurred_at >= (select ${days.from}::text::date::timestamp at time zone ${days.timeZone}::text)
    and i.occurred_at < (select ${days.to}::text::date::timestamp at time zone ${days.timeZone}::text)
    and g.shown
    and (g.recording_id is null or g.recording_id <> all(array(${hiddenRecordings})))`

/** The day, or the Monday of its week; null if the count has no such key. */
function timeOf(tx: Tx, by: readonly Key[], alias: 'c' | 'n'): Fragment {
  if (by.includes('day')) return tx`${tx(`${alias}.day`)}`
  return by.includes('week') ? mondayOf(tx, tx`${tx(`${alias}.day`)}`) : tx`null::date`
}

/** 2001-01-01 is a Monday. */
const mondayOf = (tx: Tx, day: Fragment) => tx`(${day} - ((${day} - date '2001-01-01') % 7 + 7) % 7)`

const isTime = (key: Key): boolean => key === 'day' || key === 'week'

function conditions(
  tx: Tx,
  { organizationId, applications }: CountAccess,
  request: CountedRequest,
): Fragment {
  const { kind, rating, productArea, agentVersion, outcome, theme, channel, agentKey } = request
  const is = (column: string, value: string | undefined) =>
    value === undefined ? tx`` : tx`and ${tx(column)} = ${value}`
  return tx`
    (c.channel <> 'conversation' or c.application_id = any(array(${applications})))
    ${kind === undefined ? tx`` : tx`and c.kind = any(${kindsMeant(kind as SignalKind) as string[]}::text[])`}
    ${is('c.rating', rating)}
    ${is('c.product_area', productArea)}
    ${is('c.agent_version', agentVersion)}
    ${is('c.status', outcome)}
    ${theme === undefined ? tx`` : tx`and c.theme = ${theme}::uuid`}
    ${is('c.channel', channel)}
    ${
      agentKey === undefined
        ? tx``
        : tx`and c.application_id = (
            select a.id from agent_application a where a.organization_id = ${organizationId} and a.agent_key = ${agentKey}
          )`
    }`
}

const COLUMN_OF: Readonly<Record<Exclude<Key, 'day' | 'week'>, string>> = {
  kind: 'kind',
  rating: 'rating',
  productArea: 'product_area',
  agentVersion: 'agent_version',
  outcome: 'status',
  status: 'status',
  theme: 'theme',
  channel: 'channel',
  agentKey: 'application_id',
  source: 'source',
}

function rawKey(tx: Tx, key: Key | undefined): Fragment {
  if (key === undefined) return tx`null::text`
  if (key === 'day') return tx`c.day::text`
  if (key === 'week') return tx`${mondayOf(tx, tx`c.day`)}::text`
  return tx`${tx(`c.${COLUMN_OF[key]}`)}::text`
}

/** The name of an application or a feedback source in place of its id. Sources of recordings have no id. */
function shownKey(
  tx: Tx,
  key: Key | undefined,
  column: 'first' | 'second',
  organizationId: string,
): Fragment {
  const value = tx(`g.${column}`)
  if (key === 'agentKey')
    return tx`(
      select a.agent_key from agent_application a where a.organization_id = ${organizationId} and a.id::text = ${value}
    )`
  if (key === 'source')
    return tx`coalesce(
      (select f.name from feedback_source f where f.organization_id = ${organizationId} and f.id::text = ${value}), ${value}
    )`
  return tx`${value}`
}

/** Rows that are counted, and that the caller may not see: their negative counts. */
function hidden(
  tx: Tx,
  { organizationId, hiddenRecordings }: CountAccess,
  request: CountedRequest,
  days: Days,
): Fragment {
  const { metric, channel } = request
  if (metric === 'sessions' || metric === 'feedback' || (channel !== undefined && channel !== 'recording'))
    return tx``
  // By the day under which the row is counted, also while rows move to other days. The moments are for the index.
  const inDays = (moment: Fragment) => tx`
    and day_of(r.counted_day, ${moment}) >= ${days.from}::text::date
    and day_of(r.counted_day, ${moment}) < ${days.to}::text::date
    and ${moment} >= (${days.from}::text::date - 2)::timestamp at time zone 'UTC'
    and ${moment} < (${days.to}::text::date + 2)::timestamp at time zone 'UTC'`
  if (metric === 'recordings') {
    const began = tx`coalesce(r.started_at, r.created_at)`
    return tx`
      union all
      select day_of(r.counted_day, ${began}), 'recording', null, r.source, null, null, null, null, null, -1
      from recording r
      where r.organization_id = ${organizationId}
        and r.counted
        and r.id = any(array(${hiddenRecordings}))
        ${inDays(began)}`
  }
  const at = tx`r.occurred_at`
  if (metric === 'coverage') {
    const began = tx`coalesce(r.started_at, r.created_at)`
    return tx`
      union all
      select day_of(r.counted_day, ${began}), 'recording', null, null, null, null, r.coverage, null, null, -1
      from recording r
      where r.organization_id = ${organizationId}
        and r.coverage is not null
        and r.id = any(array(${hiddenRecordings}))
        ${inDays(began)}
      union all
      select day_of(r.counted_day, ${at}), r.channel, null, null, null, null, r.coverage, null, null, -1
      from insight_subject r
      where r.organization_id = ${organizationId}
        and r.coverage is not null
        and r.recording_id = any(array(${hiddenRecordings}))
        ${inDays(at)}`
  }
  if (metric === 'outcomes')
    return tx`
      union all
      select day_of(r.counted_day, ${at}), r.channel, r.application_id, null, null, null, r.outcome, r.product_area, r.agent_version, -1
      from insight_subject r
      where r.organization_id = ${organizationId}
        and r.counted
        and r.outcome is not null
        and r.recording_id = any(array(${hiddenRecordings}))
        ${inDays(at)}`
  return tx`
    union all
    select day_of(r.counted_day, ${at}), r.channel, r.application_id, null, r.kind, r.rating, null, r.product_area, r.agent_version, -1
    from agent_signal r
    where r.organization_id = ${organizationId}
      and r.counted
      and r.shown
      and r.recording_id = any(array(${hiddenRecordings}))
      ${inDays(at)}`
}
