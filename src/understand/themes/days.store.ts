/** The SQL of the days by which themes are counted. Callers that write hold the organization's lock. */
import type { Query, Tx } from '../../platform/db/pool.ts'

/** By whose days the organization counts now. */
export async function readTimeZone(sql: Query, organizationId: string): Promise<string> {
  const [row] = await sql<{ timeZone: string }[]>`
    select time_zone as "timeZone" from organization where id = ${organizationId}`
  return row?.timeZone ?? 'UTC'
}

/** An item joins a theme (1) or leaves it (-1). */
export interface DayStep {
  readonly themeId: string
  readonly occurredAt: Date
  readonly channel: string
  readonly rating: string | null
  readonly times: 1 | -1
}

/** Counts the steps on the days of the time zone by which the organization's themes are counted. */
export async function addDays(tx: Tx, organizationId: string, steps: readonly DayStep[]): Promise<void> {
  if (steps.length === 0) return
  await tx`
    insert into theme_day as d (theme_id, day, channel, organization_id, count, negative, positive)
    select s."themeId", (s."occurredAt" at time zone p.time_zone)::date, s.channel, p.organization_id, sum(s.times),
      coalesce(sum(s.times) filter (where s.rating = 'negative'), 0), coalesce(sum(s.times) filter (where s.rating = 'positive'), 0)
    from json_to_recordset(${JSON.stringify(steps)}::text::json) as s (
      "themeId" uuid, "occurredAt" timestamptz, channel text, rating text, times int
    )
    join theme_progress p on p.organization_id = ${organizationId}
    group by 1, 2, 3, 4
    order by 1, 2, 3
    on conflict (theme_id, day, channel) do update
    set count = d.count + excluded.count, negative = d.negative + excluded.negative, positive = d.positive + excluded.positive`
  await tx`
    delete from theme_day
    where organization_id = ${organizationId}
      and count = 0
      and theme_id = any(${[...new Set(steps.map(({ themeId }) => themeId))]}::text[]::uuid[])`
}

/** Organizations whose themes are counted by the days of a former time zone. */
export const formerTimeZones = (sql: Query, limit: number) => sql<
  { readonly organizationId: string; readonly timeZone: string }[]
>`
  select p.organization_id as "organizationId", o.time_zone as "timeZone"
  from theme_progress p
  join organization o on o.id = p.organization_id
  where p.time_zone <> o.time_zone
  limit ${limit}`

/** Counts all days of the organization's themes again: a second for a million items. */
export async function countDays(tx: Tx, organizationId: string, timeZone: string): Promise<void> {
  await tx`delete from theme_day where organization_id = ${organizationId}`
  await tx`
    insert into theme_day (theme_id, day, channel, organization_id, count, negative, positive)
    select i.theme_id, (i.occurred_at at time zone ${timeZone}::text)::date, i.channel, i.organization_id, count(*),
      count(*) filter (where i.rating = 'negative'), count(*) filter (where i.rating = 'positive')
    from theme_item i
    where i.organization_id = ${organizationId} and i.theme_id is not null
    group by 1, 2, 3, 4`
  await tx`update theme_progress set time_zone = ${timeZone} where organization_id = ${organizationId}`
}
