/**
 * Who may see which conversations, and how a page of what they may see is found.
 *
 * The rule: every statement names the organization and, for a user, the conversation access of the application that is in force
 * now. A page is read from an index that has its order: what it costs is the page, not the table.
 */
import type { PendingQuery, Row } from 'postgres'
import { behind, type MomentSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Period } from './model.ts'

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
  /** Further conditions on the alias, each beginning with `and`. */
  readonly conditions: Fragment
}

/**
 * The newest rows that the reader may see, as a query of whole rows in descending order of `order` and `id`.
 *
 * For the key of an organization the organization's index is walked. For a user, or one agent, each application's index is walked
 * for a page, and the pages are merged: rows that the reader may not see are never stepped over.
 */
export function newest(sql: Query, reader: Reader, walk: Walk, { after, limit }: MomentSlice): Fragment {
  const { table, alias, agentKey, conditions } = walk
  const [order, id] = [`${alias}.${walk.order}`, `${alias}.id`]
  const page = (source: Fragment) => sql`
    select ${sql(alias)}.*
    ${source}
    order by ${sql(order)} desc, ${sql(id)} desc
    limit ${limit + 1}`
  const rowsOf = (owner: Fragment) =>
    page(sql`
      from ${sql(table)} ${sql(alias)}
      where ${owner}
        ${conditions}
        ${behind(sql, order, id, after)}`)
  if (reader.userId === null && agentKey === undefined)
    return rowsOf(sql`${sql(`${alias}.organization_id`)} = ${reader.organizationId}`)
  return page(sql`
    from (${readableApplications(sql, reader, agentKey)}) as application
    cross join lateral (${rowsOf(sql`${sql(`${alias}.application_id`)} = application.id`)}) as ${sql(alias)}`)
}

/** The further conditions of a period on a timestamptz column. */
export function within(sql: Query, column: string, { since, until }: Period) {
  // As text: the driver writes a timestamptz parameter through `Date` and would cut its microseconds.
  return sql`
    ${since === undefined ? sql`` : sql`and ${sql(column)} >= ${since}::text::timestamptz`}
    ${until === undefined ? sql`` : sql`and ${sql(column)} < ${until}::text::timestamptz`}`
}
