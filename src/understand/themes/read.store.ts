/** The SQL that reads themes for callers. Quotations and people are those of subjects that the caller may see. */
import type { PendingQuery, Row } from 'postgres'
import type { Channel } from '../../kernel/channel.ts'
import { marginOf, SCAN_ROWS } from '../../platform/db/bounded-scan.ts'
import { asMicroseconds } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Day } from '../../platform/time-zone.rules.ts'
import { EARLIER_WEEKS, RECENT_DAYS } from './trend.rules.ts'

type Fragment = PendingQuery<Row[]>

/** Days of the organization's time zone: `since` is included, `until` is not. */
export interface Days {
  readonly channel: Channel | undefined
  readonly since: Day | undefined
  readonly until: Day | undefined
  /** The trend is up to it. */
  readonly today: Day
}

export interface ThemeRow {
  readonly id: string
  readonly title: string
  readonly subtitle: string | null
  readonly titleBy: 'terms' | 'model' | 'person'
  readonly pinned: boolean
  readonly hidden: boolean
  readonly mergedInto: string | null
  readonly count: number
  readonly recent: number
  readonly earlier: number
  readonly firstAt: Date | null
  readonly lastAt: Date | null
  readonly createdAt: Date
}

const isWhole = ({ channel, since, until }: Days) =>
  channel === undefined && since === undefined && until === undefined

const ofChannel = (sql: Query, { channel }: Days) =>
  channel === undefined ? sql`` : sql`and d.channel = ${channel}`

const inPeriod = (sql: Query, { since, until }: Days) => sql`
  ${since === undefined ? sql`` : sql`and d.day >= ${since}::text::date`}
  ${until === undefined ? sql`` : sql`and d.day < ${until}::text::date`}`

/** The columns of a theme, and its trend. */
function themeColumns(sql: Query, organizationId: string, days: Days) {
  const { today } = days
  const counted = isWhole(days)
    ? sql`t.count`
    : sql`(
        select coalesce(sum(d.count), 0)::int
        from theme_day d
        where d.theme_id = t.id and d.organization_id = ${organizationId} ${ofChannel(sql, days)} ${inPeriod(sql, days)}
      )`
  const within = (from: number, until: number) => sql`
    (
      select coalesce(sum(d.count), 0)::int
      from theme_day d
      where d.theme_id = t.id
        and d.organization_id = ${organizationId}
        and d.day >= ${today}::text::date - ${from}::int
        and d.day < ${today}::text::date - ${until}::int
        ${ofChannel(sql, days)}
    )`
  return sql`
    t.id, theme_title(t) as title, nullif(t.words, theme_title(t)) as subtitle, t.title_by as "titleBy", t.pinned, t.hidden, t.merged_into as "mergedInto", ${counted} as count,
    ${within(RECENT_DAYS, 0)} as recent, ${within(RECENT_DAYS + 7 * EARLIER_WEEKS, RECENT_DAYS)} as earlier,
    t.first_at as "firstAt", t.last_at as "lastAt", t.created_at as "createdAt"`
}

/** All themes of the organization that are not merged: at most a thousand, and those that people keep. */
export const listThemes = (sql: Query, organizationId: string, days: Days, hidden: boolean) => sql<
  ThemeRow[]
>`
  select ${themeColumns(sql, organizationId, days)}
  from theme t
  where t.organization_id = ${organizationId}
    and t.merged_into is null
    ${hidden ? sql`` : sql`and not t.hidden`}
  order by t.id`

/** A merged id gives the kept theme. */
export async function findTheme(
  sql: Query,
  organizationId: string,
  id: string,
  days: Days,
): Promise<ThemeRow | undefined> {
  const [row] = await sql<ThemeRow[]>`
    select ${themeColumns(sql, organizationId, days)}
    from theme asked
    join theme t on t.organization_id = asked.organization_id and t.id = coalesce(asked.merged_into, asked.id)
    where asked.organization_id = ${organizationId} and asked.id = ${id}`
  return row
}

export interface RatedRow {
  readonly negative: number
  readonly positive: number
}

export async function countRated(
  sql: Query,
  organizationId: string,
  id: string,
  days: Days,
): Promise<RatedRow> {
  const [row] = await sql<RatedRow[]>`
    select coalesce(sum(d.negative), 0)::int as negative, coalesce(sum(d.positive), 0)::int as positive
    from theme_day d
    where d.organization_id = ${organizationId} and d.theme_id = ${id} ${ofChannel(sql, days)} ${inPeriod(sql, days)}`
  return row ?? { negative: 0, positive: 0 }
}

/** What a caller may see: `applications`, a query of ids; `recordings`, a condition on the recording `r`. */
export interface Access {
  readonly applications: Fragment
  readonly recordings: Fragment
}

/** The condition that the caller may see the subject of the finding `g`. */
const visible = (sql: Query, { applications, recordings }: Access) => sql`
  (
    g.feedback_record_id is not null
    or g.application_id = any(array(${applications}))
    or (g.recording_id is not null and exists (select from recording r where r.id = g.recording_id and ${recordings}))
  )`

export interface ItemRow {
  readonly id: number
  readonly themeId: string | null
  readonly signalId: string
  readonly kind: string
  readonly rating: 'positive' | 'negative' | null
  readonly quotation: string
  readonly channel: Channel
  readonly subjectId: string
  readonly feedbackSourceId: number | null
  readonly messageId: string | null
  readonly field: string | null
  readonly startSec: number | null
  readonly personId: string | null
  readonly occurredAt: Date
  readonly microseconds: number
  readonly locked: boolean
  readonly score: number | null
}

/**
 * The finding `g` of the item `i` with a quotation, and who said it (`who`). `offset 0` keeps PostgreSQL from reading everybody in the
 * order of people to find the first of one session.
 */
const details = (sql: Query, access: Access) => sql`
  join agent_signal g
    on g.organization_id = i.organization_id and g.id = i.signal_id and g.comment is not null and ${visible(sql, access)}
  left join feedback_record f on f.organization_id = i.organization_id and f.id = g.feedback_record_id
  left join lateral (
    select min(own.person_id) as person_id
    from (
      select sp.person_id
      from agent_session_person sp
      where sp.organization_id = i.organization_id
        and sp.session_id = g.session_id
        and (sp.participant_external_id = g.participant_external_id or (g.participant_external_id is null and sp.sole))
      offset 0
    ) own
  ) sp on true
  left join person who
    on who.organization_id = i.organization_id and who.id = coalesce(f.person_id, sp.person_id, g.person_id)`

const itemColumns = (sql: Query) => sql`
  i.id, i.theme_id as "themeId", i.signal_id as "signalId", g.kind, i.rating, coalesce(g.comment, '') as quotation, i.channel,
  i.subject_id as "subjectId", f.feedback_source_id as "feedbackSourceId", g.external_event_id as "messageId", g.field,
  g.start_sec as "startSec", who.public_id as "personId", i.occurred_at as "occurredAt",
  ${asMicroseconds(sql, 'i.occurred_at')} as microseconds, i.locked, i.score`

const members = (
  sql: Query,
  organizationId: string,
  themeId: string,
  after: readonly [microseconds: number, id: number] | null,
) => sql`
  from theme_item i
  where i.organization_id = ${organizationId}
    and i.theme_id = ${themeId}
    ${
      after === null
        ? sql``
        : sql`and (i.occurred_at, i.id) < (timestamptz 'epoch' + ${after[0]}::bigint * interval '1 microsecond', ${after[1]}::bigint)`
    }
  order by i.occurred_at desc, i.id desc`

/** Items of a theme that the caller may see, newest first, out of the newest `examined`. */
export const listItems = (
  sql: Query,
  organizationId: string,
  themeId: string,
  access: Access,
  {
    after,
    limit,
    examined,
  }: {
    readonly after: readonly [microseconds: number, id: number] | null
    readonly limit: number
    readonly examined: number | null
  },
) => sql<ItemRow[]>`
  select ${itemColumns(sql)}
  from (
    select i.*
    ${members(sql, organizationId, themeId, after)}
    limit ${examined === null ? marginOf(sql, sql`${SCAN_ROWS}::int`) : sql`${examined}::int`}
  ) i
  ${details(sql, access)}
  order by i.occurred_at desc, i.id desc
  limit ${limit + 1}`

export interface EndRow {
  readonly microseconds: number
  readonly id: number
}

/** Where the search of `listItems` ends; null where it reaches the oldest item. */
export async function endOfItems(
  sql: Query,
  organizationId: string,
  themeId: string,
  after: readonly [microseconds: number, id: number] | null,
): Promise<EndRow | null> {
  const [row] = await sql<EndRow[]>`
    select ${asMicroseconds(sql, 'i.occurred_at')} as microseconds, i.id
    ${members(sql, organizationId, themeId, after)}
    limit 1
    offset ${SCAN_ROWS}`
  return row ?? null
}

/** Those of the items that the caller may see. */
export const findItems = (sql: Query, organizationId: string, ids: readonly number[], access: Access) => sql<
  ItemRow[]
>`
  select ${itemColumns(sql)}
  from theme_item i
  ${details(sql, access)}
  where i.organization_id = ${organizationId} and i.id = any(${ids as number[]}::bigint[])`

export interface PersonRow {
  readonly personId: string
  readonly name: string | null
  readonly count: number
}

/** People behind the newest items of a theme that the caller may see, those with the most items first. */
export const listPeople = (
  sql: Query,
  organizationId: string,
  themeId: string,
  access: Access,
  examined: number,
  limit: number,
) => sql<PersonRow[]>`
  select who.public_id as "personId",
    coalesce(nullif(concat_ws(' ', who.first_name, who.last_name), ''), who.email) as name, count(*)::int as count
  from (
    select i.*
    ${members(sql, organizationId, themeId, null)}
    limit ${examined}
  ) i
  ${details(sql, access)}
  where who.id is not null
  group by who.id
  order by count(*) desc, who.id
  limit ${limit}`
