/** SQL of projects and of the coding-agent sessions that are associated with them. */

import type { PendingQuery, Row } from 'postgres'
import { asMicroseconds, behind, type Position, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Project, ProjectSession } from './model.ts'

export type ProjectRow = Project & { readonly createdMicroseconds: number }

const columns = (sql: Query) => sql`
  p.id as "publicId", p.name, p.description, p.external_key as "externalKey",
  p.created_at as "createdAt", p.updated_at as "updatedAt",
  ${asMicroseconds(sql, 'p.created_at')} as "createdMicroseconds"`

/** @returns undefined if another project of the organization has the key */
export async function insertProject(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly name: string
    readonly description: string | null
    readonly externalKey: string | null
  },
): Promise<ProjectRow | undefined> {
  const [project] = await sql<ProjectRow[]>`
    insert into project as p (id, organization_id, name, description, external_key)
    values (${row.id}, ${row.organizationId}, ${row.name}, ${row.description}, ${row.externalKey})
    on conflict (organization_id, external_key) do nothing
    returning ${columns(sql)}`
  return project
}

export async function findProject(
  sql: Query,
  organizationId: string,
  id: string,
): Promise<ProjectRow | undefined> {
  const [project] = await sql<ProjectRow[]>`
    select ${columns(sql)}
    from project p
    where p.organization_id = ${organizationId}
      and p.id = ${id}`
  return project
}

/** The project with the caller's key: none or one. */
export function projectsWithKey(sql: Query, organizationId: string, externalKey: string) {
  return sql<ProjectRow[]>`
    select ${columns(sql)}
    from project p
    where p.organization_id = ${organizationId}
      and p.external_key = ${externalKey}`
}

/** Newest first, with one row more than the limit. */
export function listProjects(sql: Query, organizationId: string, { after, limit }: TimeSlice) {
  return sql<ProjectRow[]>`
    select ${columns(sql)}
    from project p
    where p.organization_id = ${organizationId}
      ${behind(sql, 'p.created_at', 'p.id', after)}
    order by p.created_at desc, p.id desc
    limit ${limit + 1}`
}

/** Undefined keeps a value. @returns undefined if there is no such project */
export async function updateProject(
  sql: Query,
  organizationId: string,
  id: string,
  change: { readonly name: string | undefined; readonly description: string | null | undefined },
): Promise<ProjectRow | undefined> {
  const { name, description } = change
  const [project] = await sql<ProjectRow[]>`
    update project p
    set updated_at = now()
      ${name === undefined ? sql`` : sql`, name = ${name}`}
      ${description === undefined ? sql`` : sql`, description = ${description}`}
    where p.organization_id = ${organizationId}
      and p.id = ${id}
    returning ${columns(sql)}`
  return project
}

/** Deletes the project with its associations. The sessions stay. */
export async function deleteProject(sql: Query, organizationId: string, id: string): Promise<boolean> {
  const rows = await sql`
    delete from project
    where organization_id = ${organizationId}
      and id = ${id}
    returning 1`
  return rows.length === 1
}

/** A condition on the coding-agent session `s`: the caller sees it. It names the organization. */
export type Condition = PendingQuery<Row[]>

export interface Target {
  readonly organizationId: string
  readonly projectId: string
  readonly sessionId: string
}

export interface AssociationTarget {
  readonly projectExists: boolean
  readonly sessionVisible: boolean
  readonly associated: boolean
}

export async function findTarget(
  sql: Query,
  visible: Condition,
  { organizationId, projectId, sessionId }: Target,
): Promise<AssociationTarget> {
  const [row] = await sql<AssociationTarget[]>`
    select
      exists (
        select 1
        from project p
        where p.organization_id = ${organizationId}
          and p.id = ${projectId}
      ) as "projectExists",
      exists (
        select 1
        from coding_session s
        where ${visible}
          and s.id = ${sessionId}
      ) as "sessionVisible",
      exists (
        select 1
        from project_session ps
        where ps.organization_id = ${organizationId}
          and ps.project_id = ${projectId}
          and ps.session_id = ${sessionId}
      ) as "associated"`
  return row as AssociationTarget
}

/** Associates a session that the viewer sees. @returns whether it is new to the project */
export async function insertAssociation(
  sql: Query,
  visible: Condition,
  { organizationId, projectId, sessionId }: Target,
): Promise<boolean> {
  const rows = await sql`
    insert into project_session (organization_id, project_id, session_id)
    select p.organization_id, p.id, s.id
    from project p
    cross join coding_session s
    where p.organization_id = ${organizationId}
      and p.id = ${projectId}
      and ${visible}
      and s.id = ${sessionId}
    on conflict (project_id, session_id) do nothing
    returning 1`
  return rows.length === 1
}

/** Ends the association with a session that the viewer sees. @returns false if there was none */
export async function deleteAssociation(
  sql: Query,
  visible: Condition,
  { organizationId, projectId, sessionId }: Target,
): Promise<boolean> {
  const rows = await sql`
    delete from project_session ps
    using coding_session s
    where ps.organization_id = ${organizationId}
      and ps.project_id = ${projectId}
      and ps.session_id = ${sessionId}
      and s.id = ps.session_id
      and ${visible}
    returning 1`
  return rows.length === 1
}

export type SessionRow = ProjectSession & { readonly associatedMicroseconds: number }

/** The sessions of a project that the viewer sees, the latest association first, with one row more than the limit. */
export function listSessions(
  sql: Query,
  visible: Condition,
  { organizationId, projectId }: Omit<Target, 'sessionId'>,
  { after, offset, limit }: Position<readonly [microseconds: number, id: string]>,
) {
  return sql<SessionRow[]>`
    select
      s.id as "sessionId", s.agent, s.title, s.repo, s.branch, s.commit_sha as commit,
      s.started_at as "startedAt", s.ended_at as "endedAt", s.event_count as "eventCount",
      ps.created_at as "associatedAt",
      ${asMicroseconds(sql, 'ps.created_at')} as "associatedMicroseconds"
    from project_session ps
    join coding_session s on s.id = ps.session_id
    where ps.organization_id = ${organizationId}
      and ps.project_id = ${projectId}
      and ${visible}
      ${behind(sql, 'ps.created_at', 'ps.session_id', after)}
    order by ps.created_at desc, ps.session_id desc
    limit ${limit + 1}
    offset ${offset}`
}
