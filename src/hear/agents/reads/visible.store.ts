/**
 * Parts of SQL statements that select the conversations a reader may see, and a page of them.
 *
 * Every statement names the organization and, for a user, checks the application's present conversation access. An index has the
 * order of each page, so the cost of a page does not depend on the size of the table.
 */
import type { PendingQuery, Row } from 'postgres'
import { marginOf, SCAN_ROWS } from '../../../platform/db/bounded-scan.ts'
import { asMoment, behind, type MomentSlice } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { Period } from '../model.ts'

/** A part of a statement. */
export type Fragment = PendingQuery<Row[]>

/** The reader: a user of the organization, or the organization's key (`userId` null), which sees everything. */
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

/** The condition that the reader may see a row with this `application_id`. The caller adds the condition on the organization. */
export function readable(sql: Query, reader: Reader, column: string) {
  if (reader.userId === null) return sql`true`
  // An array is computed once for the statement.
  return sql`${sql(column)} = any(array(${readableApplications(sql, reader, undefined)}))`
}

/** `began`: when a session began; of older versions that are not filled yet, when it was created. */
export type Order = 'created_at' | 'occurred_at' | 'began'

/** The moment by which rows are ordered. */
export const momentOf = (sql: Query, alias: string, order: Order): Fragment =>
  order === 'began'
    ? sql`coalesce(${sql(`${alias}.started_at`)}, ${sql(`${alias}.created_at`)})`
    : sql`${sql(`${alias}.${order}`)}`

interface ScanConditions {
  readonly alias: string
  /** Bounds of `order` on the alias, each beginning with `and`. The index serves them. */
  readonly bounds: Fragment
  /** Conditions on the alias without an index, each beginning with `and`; null: none. They need a bounded scan (bounded-scan.ts). */
  readonly conditions: Fragment | null
}

interface SessionScan extends ScanConditions {
  readonly table: 'agent_session'
  readonly order: Exclude<Order, 'occurred_at'>
}

interface SignalScan extends ScanConditions {
  readonly table: 'agent_signal'
  readonly order: Exclude<Order, 'began'>
}

/** A table with the columns `organization_id`, `application_id` and `id`, and its order. */
export type Scan = SessionScan | SignalScan

/** Rows for which an index has the order of the list. */
export interface Source {
  /** A query of ids, with the column `id`: the rows of each are a list of their own. Null: the rows are one list. */
  readonly each: Fragment | null
  /** The condition on the alias that the index serves. With `each` it compares with `source.id`. */
  readonly owner: Fragment
  /** Conditions without an index for these rows only, each beginning with `and`. They need `conditions` of the scan. */
  readonly conditions?: Fragment
}

/**
 * The conversations that the reader may see, of one application or of all.
 *
 * For the key of an organization it is the organization's index. For a user, or for one application, it is a page from each application's
 * index. So a list never steps over rows that the reader may not see.
 */
export function conversationsOf(
  sql: Query,
  reader: Reader,
  alias: string,
  agentKey: string | undefined,
): Source {
  if (reader.userId === null && agentKey === undefined)
    return { each: null, owner: sql`${sql(`${alias}.organization_id`)} = ${reader.organizationId}` }
  return eachApplication(sql, reader, alias, agentKey)
}

/** The same, always by application. */
export const eachApplication = (
  sql: Query,
  reader: Reader,
  alias: string,
  agentKey: string | undefined,
): Source => ({
  each: readableApplications(sql, reader, agentKey),
  owner: sql`${sql(`${alias}.application_id`)} = source.id`,
})

/** The newest rows of the sources, as a query of whole rows in descending order of `order` and `id`. */
export function newest(
  sql: Query,
  sources: readonly Source[],
  scan: Scan,
  { after, limit }: MomentSlice,
): Fragment {
  const { table, alias, conditions } = scan
  const page = (source: Fragment) => sql`
    select ${sql(alias)}.*
    ${source}
    ${orderOf(sql, scan)}
    limit ${limit + 1}`
  const rowsOf = ({ owner, conditions: own }: Source, share: Fragment) => {
    const rows = sql`
      from ${sql(table)} ${sql(alias)}
      where ${passed(sql, scan, owner, after)}`
    if (conditions === null) return page(rows)
    return page(sql`
      from (
        select ${sql(alias)}.*
        ${rows}
        ${orderOf(sql, scan)}
        limit ${marginOf(sql, share)}
      ) as ${sql(alias)}
      where true
        ${conditions}
        ${own ?? sql``}`)
  }
  return merged(sql, sources, scan, rowsOf, page)
}

export interface EndOfScan {
  readonly moment: string
  readonly id: string
}

/** The position where a scan of `newest` with conditions ends; null where it reaches the end of the list. */
export async function endOfScan(
  sql: Query,
  sources: readonly Source[],
  scan: Scan,
  { after }: MomentSlice,
): Promise<EndOfScan | null> {
  const { table, alias, order } = scan
  const moment = momentOf(sql, alias, order)
  const columns =
    order === 'began' ? sql`${sql(`${alias}.started_at`)}, ${sql(`${alias}.created_at`)}` : moment
  const last = (source: Fragment) => sql`
    select ${sql(alias)}.id, ${columns}
    ${source}
    ${orderOf(sql, scan)}`
  const endOf = ({ owner }: Source, share: Fragment) => sql`
    ${last(sql`
      from ${sql(table)} ${sql(alias)}
      where ${passed(sql, scan, owner, after)}`)}
    limit 1
    offset ${share}`
  // Of several lists the newest end counts, because after it some rows were not examined.
  const ends = merged(sql, sources, scan, endOf, last)
  const [row] = await sql<EndOfScan[]>`
    select
      ${asMoment(sql, moment)} as moment,
      ${sql(alias)}.id
    from (${ends}) as ${sql(alias)}
    limit 1`
  return row ?? null
}

const orderOf = (sql: Query, { alias, order }: Scan) =>
  sql`order by ${momentOf(sql, alias, order)} desc, ${sql(`${alias}.id`)} desc`

const passed = (
  sql: Query,
  { alias, order, bounds }: Scan,
  owner: Fragment,
  after: MomentSlice['after'],
) => sql`
  ${owner}
  ${bounds}
  ${behind(sql, momentOf(sql, alias, order), `${alias}.id`, after)}`

/** The rows of all sources, which share `SCAN_ROWS`. */
function merged(
  sql: Query,
  sources: readonly Source[],
  { alias }: Scan,
  rowsOf: (source: Source, share: Fragment) => Fragment,
  merge: (source: Fragment) => Fragment,
): Fragment {
  const rows = Math.floor(SCAN_ROWS / Math.max(1, sources.length))
  const lists = sources.map((source) => {
    const { each } = source
    if (each === null) return rowsOf(source, sql`${rows}::int`)
    const share = sql`(select ${rows}::int / greatest(count(*), 1) from (${each}) as sharing)`
    return merge(sql`
      from (${each}) as source
      cross join lateral (
        ${rowsOf(source, share)}
      ) as ${sql(alias)}`)
  })
  const [first = sql``, ...others] = lists
  if (others.length === 0) return first
  const all = others.reduce((some, list) => sql`${some} union all (${list})`, sql`(${first})`)
  return merge(sql`from (${all}) as ${sql(alias)}`)
}

/** The conditions of a period on a timestamptz column. */
export function within(sql: Query, column: string | Fragment, { since, until }: Period) {
  const moment = typeof column === 'string' ? sql(column) : column
  // Parameters are text, because the driver converts timestamptz parameters to `Date`, which has no microseconds.
  return sql`
    ${since === undefined ? sql`` : sql`and ${moment} >= ${since}::text::timestamptz`}
    ${until === undefined ? sql`` : sql`and ${moment} < ${until}::text::timestamptz`}`
}
