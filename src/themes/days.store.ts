/** The SQL of the days by which themes are counted. Callers that write hold the organization's lock. */
import type { Query, Tx } from '../platform/db/pool.ts'
import type { DayChange } from './members.rules.ts'

/** By whose days the organization counts now. */
export async function readTimeZone(sql: Query, organizationId: string): Promise<string> {
  const [row] = await sql<{ timeZone: string }[]>`
    select time_zone as "timeZone" from organization where id = ${organizationId}`
  return row?.timeZone ?? 'UTC'
}

export type ThemeDay = DayChange & { readonly themeId: string }

export async function addDays(tx: Tx, organizationId: string, changes: readonly ThemeDay[]): Promise<void> {
  if (changes.length === 0) return
  await tx`
    insert into theme_day as d (theme_id, day, channel, organization_id, count, negative, positive)
    select r."themeId", r.day, r.channel, ${organizationId}, r.count, r.negative, r.positive
    from json_to_recordset(${JSON.stringify(changes)}::text::json) as r (
      "themeId" uuid, day date, channel text, count int, negative int, positive int
    )
    order by r."themeId", r.day, r.channel
    on conflict (theme_id, day, channel) do update
    set count = d.count + excluded.count, negative = d.negative + excluded.negative, positive = d.positive + excluded.positive`
  if (changes.every(({ count }) => count > 0)) return
  await tx`
    delete from theme_day
    where organization_id = ${organizationId}
      and count = 0
      and theme_id = any(${[...new Set(changes.map(({ themeId }) => themeId))]}::text[]::uuid[])`
}

/** By whose days the organization's themes are counted. */
export async function readCountedTimeZone(tx: Tx, organizationId: string): Promise<string> {
  const [row] = await tx<{ timeZone: string }[]>`
    select time_zone as "timeZone" from theme_progress where organization_id = ${organizationId}`
  return row?.timeZone ?? 'UTC'
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
