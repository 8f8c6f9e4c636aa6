/** Sums that the service keeps beside the rows that they count. Each is changed in the transaction that changes its rows, so they agree at any time. */
import type { Query } from '../../src/platform/db/pool.ts'

type Sums = (sql: Query) => Promise<readonly unknown[]>

/** Each query finds the groups whose sum differs from their rows: rows count as 1, and sums with a minus. */
const SUMS: Readonly<Record<string, Sums>> = {
  'what an organization uses': (sql) => sql`
    with counted (organization_id, metric, application_id, hour, n) as (
      select organization_id, unit, application_id, date_trunc('hour', created_at, 'UTC'), 1 from agent_usage
      union all
      select organization_id, 'events', ${NONE}::uuid, '-infinity', 1 from agent_event
      union all
      select organization_id, 'media_bytes', ${NONE}::uuid, '-infinity', media_bytes(r) from recording r
      union all
      select organization_id, 'media_bytes', ${NONE}::uuid, '-infinity', media_bytes(u) from upload u
      union all
      select organization_id, metric, application_id, hour, -count from usage_count
      union all
      select organization_id, metric, application_id, hour, -change from usage_change
    )
    select organization_id, metric, sum(n) from counted group by organization_id, metric, application_id, hour having sum(n) <> 0`,
  'the counts of insight': (sql) => sql`
    with counted as (
      select organization_id, 'signals' as metric, (occurred_at at time zone 'UTC')::date as day, channel, application_id,
        null::text as source, kind, rating, null::text as status, product_area, agent_version, 1 as n
      from agent_signal where shown
      union all
      select organization_id, 'sessions', (coalesce(started_at, created_at) at time zone 'UTC')::date, 'conversation', application_id, null, null, null, status,
        context ->> 'productArea', agent_version, 1
      from agent_session
      union all
      select organization_id, 'feedback', (display_ts at time zone 'UTC')::date, 'feedback', null, feedback_source_id::text, null, null,
        null, null, null, 1
      from feedback_record
      union all
      select organization_id, 'recordings', (coalesce(started_at, created_at) at time zone 'UTC')::date, 'recording', null, source, null,
        null, null, null, null, 1
      from recording
      union all
      select organization_id, 'outcomes', (occurred_at at time zone 'UTC')::date, channel, application_id, null, null, null, outcome,
        product_area, agent_version, 1
      from insight_subject where outcome is not null
      union all
      select organization_id, 'coverage', (occurred_at at time zone 'UTC')::date, channel, application_id, null, null, null, coverage, product_area, agent_version, 1
      from insight_subject where coverage is not null
      union all
      select organization_id, 'coverage', (coalesce(started_at, created_at) at time zone 'UTC')::date, 'conversation', application_id, null, null, null, coverage,
        context ->> 'productArea', agent_version, 1
      from agent_session where coverage is not null
      union all
      select organization_id, 'coverage', (coalesce(started_at, created_at) at time zone 'UTC')::date, 'recording', null, null, null, null, coverage, null, null, 1
      from recording where coverage is not null
      union all
      select organization_id, metric, day, channel, application_id, source, kind, rating, status, product_area, agent_version, -change
      from insight_count_change
    ), leveled as (
      select organization_id, metric, l.level, day, channel, application_id, source, kind, rating, status,
        case when l.level & 1 <> 0 then product_area end as product_area,
        case when l.level & 2 <> 0 then agent_version end as agent_version, n
      from counted, generate_series(0, 3) as l (level)
      union all
      select c.organization_id, c.metric, c.level, c.day, d.channel, d.application_id, d.source, d.kind, d.rating, d.status, d.product_area,
        d.agent_version, -c.count
      from insight_count c
      join insight_dimension d on d.organization_id = c.organization_id and d.id = c.dimension_id
    )
    select organization_id, metric, sum(n) from leveled
    group by organization_id, metric, level, day, channel, application_id, source, kind, rating, status, product_area, agent_version
    having sum(n) <> 0`,
  'the members of themes': (sql) => sql`
    select t.id from theme t
    left join theme_item i on i.organization_id = t.organization_id and i.theme_id = t.id
    group by t.id
    having (t.count, t.weight) <> (count(i.id), coalesce(sum(case when i.locked then 2 else 1 end) filter (where i.id is not null), 0))`,
  'the days of themes': (sql) => sql`
    with counted (theme_id, day, channel, count, negative, positive) as (
      select theme_id, (occurred_at at time zone 'UTC')::date, channel, 1, (rating is not distinct from 'negative')::int,
        (rating is not distinct from 'positive')::int
      from theme_item where theme_id is not null
      union all
      select theme_id, day, channel, -count, -negative, -positive from theme_day
    )
    select theme_id from counted group by theme_id, day, channel
    having (sum(count), sum(negative), sum(positive)) <> (0, 0, 0)`,
  'the items of an organization': (sql) => sql`
    select p.organization_id from theme_progress p
    where p.items <> (select count(*) from theme_item i where i.organization_id = p.organization_id)`,
  'the words of themes': (sql) => sql`
    with counted (organization_id, term, n) as (
      select organization_id, unnest(terms), 1 from theme_item
      union all
      select organization_id, term, -count from theme_term
    )
    select organization_id, term from counted group by 1, 2 having sum(n) <> 0`,
  'the events of coding sessions': (sql) => sql`
    select s.id from coding_session s
    left join coding_session_event e on e.organization_id = s.organization_id and e.session_id = s.id
    group by s.id
    having
      (s.event_count, s.message_count, s.tool_call_count, s.file_edit_count, s.input_tokens, s.output_tokens) <> (
        count(e.event_id), count(*) filter (where e.kind = 'message'), coalesce(sum(e.tool_calls), 0), coalesce(sum(e.file_edits), 0),
        coalesce(sum(e.input_tokens) filter (where not e.inherited), 0), coalesce(sum(e.output_tokens) filter (where not e.inherited), 0)
      )`,
}

/** The application in counts of a whole organization. */
const NONE = '00000000-0000-0000-0000-000000000000'

/** @returns the sums that differ from their rows */
export async function wrongSums(sql: Query): Promise<readonly string[]> {
  const wrong: string[] = []
  for (const [name, find] of Object.entries(SUMS)) {
    const groups = await find(sql)
    if (groups.length > 0) wrong.push(`${name}: ${groups.length} differ, first ${JSON.stringify(groups[0])}`)
  }
  return wrong
}
