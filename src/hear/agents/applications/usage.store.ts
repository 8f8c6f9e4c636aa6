/**
 * The SQL of the usage of an application.
 *
 * Whole hours come from the counts by hour, and the parts of an hour at both ends of the period from the ledger, so the time of an answer
 * does not grow with the ledger. Units that are older than the counts are counted from the ledger until the data change has added them.
 */
import type { Query } from '../../../platform/db/pool.ts'

export interface UsageDay {
  /** UTC, `2026-01-02`. */
  readonly date: string
  readonly count: number
}

/** Units by day (UTC), for every day that overlaps the period. */
export function usageByDay(
  sql: Query,
  organizationId: string,
  applicationId: string,
  unit: string,
  { from, until }: { readonly from: Date; readonly until: Date },
) {
  const ledger = (what = sql``) => sql`
    select u.created_at as at, 1::bigint as count
    from agent_usage u
    where u.organization_id = ${organizationId}
      and u.application_id = ${applicationId}
      and u.unit = ${unit}
      ${what}`
  const hours = (counts: ReturnType<typeof sql>) => sql`
    ${counts} c
    where c.organization_id = ${organizationId}
      and c.metric = ${unit}
      and c.application_id = ${applicationId}
      and c.hour >= (select first from period)
      and c.hour < (select last from period)`
  return sql<UsageDay[]>`
    with whole as (
      select
        date_trunc('hour', ${from}::timestamptz + interval '1 hour' - interval '1 microsecond', 'UTC') as first,
        date_trunc('hour', ${until}::timestamptz, 'UTC') as last
    ), period as (
      -- Without a whole hour between them, both are the end: all is read from the ledger.
      select least(first, ${until}) as first, greatest(last, least(first, ${until})) as last from whole
    ), used as (
      ${hours(sql`select c.hour as at, c.count from usage_count`)}
      union all
      ${hours(sql`select c.hour as at, c.change as count from usage_change`)}
      union all
      ${ledger(sql`and u.created_at >= ${from} and u.created_at < (select first from period)`)}
      union all
      ${ledger(sql`and u.created_at >= (select last from period) and u.created_at < ${until}`)}
      union all
      ${ledger(sql`
        and u.created_at >= (select first from period)
        and u.created_at < (select last from period)
        and u.counted is null
        and (
          select a.usage_counted is null
          from agent_application a
          where a.organization_id = ${organizationId} and a.id = ${applicationId}
        )`)}
    ), by_day as (
      select (at at time zone 'UTC')::date as day, sum(count) as count
      from used
      group by 1
    )
    select to_char(day, 'YYYY-MM-DD') as date, coalesce(b.count, 0)::int as count
    from generate_series(
      date_trunc('day', ${from}::timestamptz at time zone 'UTC'),
      (${until}::timestamptz at time zone 'UTC') - interval '1 microsecond',
      interval '1 day'
    ) as day
    left join by_day b using (day)
    order by day`
}

/** Counts the units of applications that were stored before the counts by hour, once. */
export async function countOlderUnits(tx: Query, applicationIds: readonly string[]): Promise<void> {
  await tx`
    with application as (
      update agent_application
      set usage_counted = true
      where id = any(${applicationIds as string[]}::uuid[])
        and usage_counted is null
      returning organization_id, id
    )
    insert into usage_change (organization_id, metric, application_id, hour, change)
    select u.organization_id, u.unit, u.application_id, date_trunc('hour', u.created_at, 'UTC'), count(*)
    from application a
    join agent_usage u on u.organization_id = a.organization_id and u.application_id = a.id
    where u.counted is null
    group by 1, 2, 3, 4`
}
