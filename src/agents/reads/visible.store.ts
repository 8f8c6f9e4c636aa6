/**
 * Who may see which conversations, and how a page of what they may see is found.
 *
 * The rule: every statement names the organization and, for a user, the conversation access of the application that is in force
 * now. A page is read from an index that has its order: what it costs is the page, not the table.
 */
import type { PendingQuery, Row } from 'postgres'
import { asMicroseconds, asMoment, behind, type MomentSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import { marginOf, WALK_ROWS } from '../../platform/db/walk.ts'
import type { Period } from '../model.ts'

/** A piece of a statement. */
export type Fragment = PendingQuery<Row[]>

/** Who reads: a user of the organization, or its key (`userId` null), which sees everything. */
export interface Reader {
  readonly organizationId: string
  readonly userId: string | null
}

/** The ids of the organization's applications whose conversations the reader may see, as a query. */
export function readableApplications(sql: Query, reader: Reader, agentKey: string | undefined) {
  const named = agentKey === undefined ? sql`` : sql`and granting.agent_key = ${agentKey}`
  if (reader.userId === null)
    return sql`
      select granting.id
      from agent_application granting
      where granting.organization_id = ${reader.organizationId}
        ${named}`
  return sql`
    select granting.id
    from agent_application granting
    join agent_application_settings access
      on access.application_id = granting.id and access.version = granting.settings_version
    where granting.organization_id = ${reader.organizationId}
      ${named}
      and (access.settings #>> '{conversationAccess,type}' = 'workspace'
        or access.settings #> '{conversationAccess,userIds}' ? ${reader.userId})`
}

/** The condition under which the reader may see a row with this `application_id`; the organization is named beside it. */
export function readable(sql: Query, reader: Reader, column: string) {
  if (reader.userId === null) return sql`true`
  // As an array: it is made once for the statement.
  return sql`${sql(column)} = any(array(${readableApplications(sql, reader, undefined)}))`
}

export interface Walk {
  /** With the columns `organization_id`, `application_id`, `id` and `order`. */
  readonly table: 'agent_session' | 'agent_signal'
  readonly alias: string
  readonly order: 'created_at' | 'occurred_at'
  /** Of one agent only. */
  readonly agentKey: string | undefined
  /** Bounds of `order` on the alias, each beginning with `and`: the index has them. */
  readonly bounds: Fragment
  /** Conditions on the alias that no index has, each beginning with `and`; null: none. Rows are walked for them (walk.ts). */
  readonly conditions: Fragment | null
}

/**
 * The newest rows that the reader may see, as a query of whole rows in descending order of `order` and `id`.
 *
 * For the key of an organization the organization's index is walked. For a user, or one agent, each application's index is walked
 * for a page, and the pages are merged: rows that the reader may not see are never stepped over.
 */
export function newest(sql: Query, reader: Reader, walk: Walk, { after, limit }: MomentSlice): Fragment {
  const { table, alias, conditions } = walk
  const page = (source: Fragment) => sql`
    select ${sql(alias)}.*
    ${source}
    ${orderOf(sql, walk)}
    limit ${limit + 1}`
  const rowsOf = (owner: Fragment, share: Fragment) => {
    const rows = sql`
      from ${sql(table)} ${sql(alias)}
      where ${passed(sql, walk, owner, after)}`
    if (conditions === null) return page(rows)
    return page(sql`
      from (
        select ${sql(alias)}.*
        ${rows}
        ${orderOf(sql, walk)}
        limit ${marginOf(sql, share)}
      ) as ${sql(alias)}
      where true
        ${conditions}`)
  }
  return merged(sql, reader, walk, rowsOf, page)
}

export interface EndOfWalk {
  readonly moment: string
  readonly microseconds: number
  readonly id: string
}

/** Where a walk of `newest` with conditions ends; null where the walk comes to the end of the list. */
export async function endOfWalk(
  sql: Query,
  reader: Reader,
  walk: Walk,
  { after }: MomentSlice,
): Promise<EndOfWalk | null> {
  const { table, alias, order } = walk
  const last = (source: Fragment) => sql`
    select ${sql(alias)}.id, ${sql(`${alias}.${order}`)}
    ${source}
    ${orderOf(sql, walk)}`
  const endOf = (owner: Fragment, share: Fragment) => sql`
    ${last(sql`
      from ${sql(table)} ${sql(alias)}
      where ${passed(sql, walk, owner, after)}`)}
    limit 1
    offset ${share}`
  // Of several applications the first to end: behind it, not all that there is was looked at.
  const ends = merged(sql, reader, walk, endOf, last)
  const [row] = await sql<EndOfWalk[]>`
    select
      ${asMoment(sql, `${alias}.${order}`)} as moment,
      ${asMicroseconds(sql, `${alias}.${order}`)} as microseconds,
      ${sql(alias)}.id
    from (${ends}) as ${sql(alias)}
    limit 1`
  return row ?? null
}

const orderOf = (sql: Query, { alias, order }: Walk) =>
  sql`order by ${sql(`${alias}.${order}`)} desc, ${sql(`${alias}.id`)} desc`

const passed = (
  sql: Query,
  { alias, order, bounds }: Walk,
  owner: Fragment,
  after: MomentSlice['after'],
) => sql`
  ${owner}
  ${bounds}
  ${behind(sql, `${alias}.${order}`, `${alias}.id`, after)}`

/** `rowsOf` the organization, or of each application that the reader may see, put together by `merge`. */
function merged(
  sql: Query,
  reader: Reader,
  { alias, agentKey }: Walk,
  rowsOf: (owner: Fragment, share: Fragment) => Fragment,
  merge: (source: Fragment) => Fragment,
): Fragment {
  if (reader.userId === null && agentKey === undefined)
    return rowsOf(sql`${sql(`${alias}.organization_id`)} = ${reader.organizationId}`, sql`${WALK_ROWS}::int`)
  const applications = readableApplications(sql, reader, agentKey)
  const share = sql`(select ${WALK_ROWS}::int / greatest(count(*), 1) from (${applications}) as sharing)`
  return merge(sql`
    from (${applications}) as application
    cross join lateral (
      ${rowsOf(sql`${sql(`${alias}.application_id`)} = application.id`, share)}
    ) as ${sql(alias)}`)
}

/** The further conditions of a period on a timestamptz column. */
export function within(sql: Query, column: string, { since, until }: Period) {
  // As text: the driver writes a timestamptz parameter through `Date` and would cut its microseconds.
  return sql`
    ${since === undefined ? sql`` : sql`and ${sql(column)} >= ${since}::text::timestamptz`}
    ${until === undefined ? sql`` : sql`and ${sql(column)} < ${until}::text::timestamptz`}`
}
