/**
 * The SQL of applications and of their settings versions.
 *
 * Settings change under the lock of the application's row. A written version never changes.
 */
import { asMicroseconds, behind, type TimeSlice } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { AgentSettings } from '../settings.ts'
import type { Application } from './model.ts'

export type ApplicationRow = Application & { readonly createdMicroseconds: number }

const columns = (sql: Query) => sql`
  a.id,
  a.agent_key as "agentKey",
  a.name,
  a.settings_version as "settingsVersion",
  v.settings,
  a.created_at as "createdAt",
  ${asMicroseconds(sql, 'a.created_at')} as "createdMicroseconds",
  a.updated_at as "updatedAt"`

/** Writes the application with version 1 of its settings. @returns false where the organization already uses the key */
export async function insertApplication(
  sql: Query,
  application: {
    readonly id: string
    readonly organizationId: string
    readonly agentKey: string
    readonly name: string
    readonly settings: AgentSettings
  },
): Promise<boolean> {
  const { id, organizationId, agentKey, name, settings } = application
  const rows = await sql`
    with application as (
      insert into agent_application (id, organization_id, agent_key, name)
      values (${id}, ${organizationId}, ${agentKey}, ${name})
      on conflict (organization_id, agent_key) do nothing
      returning organization_id, id, settings_version
    )
    insert into agent_application_settings (organization_id, application_id, version, settings)
    select organization_id, id, settings_version, ${JSON.stringify(settings)}::text::jsonb
    from application
    returning version`
  return rows.length === 1
}

export async function findApplication(
  sql: Query,
  organizationId: string,
  id: string,
): Promise<ApplicationRow | undefined> {
  const [row] = await sql<ApplicationRow[]>`
    select ${columns(sql)}
    from agent_application a
    join agent_application_settings v on v.application_id = a.id and v.version = a.settings_version
    where a.organization_id = ${organizationId}
      and a.id = ${id}`
  return row
}

/** Newest first. */
export function listApplications(
  sql: Query,
  organizationId: string,
  agentKey: string | undefined,
  { after, limit }: TimeSlice,
) {
  return sql<ApplicationRow[]>`
    select ${columns(sql)}
    from agent_application a
    join agent_application_settings v on v.application_id = a.id and v.version = a.settings_version
    where a.organization_id = ${organizationId}
      ${agentKey === undefined ? sql`` : sql`and a.agent_key = ${agentKey}`}
      ${behind(sql, 'a.created_at', 'a.id', after)}
    order by a.created_at desc, a.id desc
    limit ${limit + 1}`
}

/**
 * Locks the application until the transaction ends. It does not read the settings, because after a wait for the lock the same
 * statement would join the new row with the settings versions of its older snapshot.
 */
export async function lockApplication(tx: Query, organizationId: string, id: string): Promise<boolean> {
  const rows = await tx`
    select id
    from agent_application
    where organization_id = ${organizationId}
      and id = ${id}
    for no key update`
  return rows.length === 1
}

/** Locks the application, so that no session of it is created until the transaction ends. @returns false where it does not exist */
export async function lockForDeletion(tx: Query, organizationId: string, id: string): Promise<boolean> {
  const rows = await tx`
    select 1
    from agent_application
    where organization_id = ${organizationId}
      and id = ${id}
    for update`
  return rows.length === 1
}

/** Deletes the locked application with its settings and secrets if it has no session. @returns false where it has a session */
export async function deleteUnusedApplication(
  tx: Query,
  organizationId: string,
  id: string,
): Promise<boolean> {
  const rows = await tx`
    delete from agent_application a
    where a.organization_id = ${organizationId}
      and a.id = ${id}
      and not exists (
        select 1 from agent_session s where s.organization_id = a.organization_id and s.application_id = a.id
      )
    returning 1`
  return rows.length === 1
}

/** Sets the name and the present settings version of the application. */
export async function updateApplication(
  tx: Query,
  organizationId: string,
  id: string,
  { name, settingsVersion }: { readonly name: string; readonly settingsVersion: number },
): Promise<void> {
  await tx`
    update agent_application
    set name = ${name}, settings_version = ${settingsVersion}, updated_at = now()
    where organization_id = ${organizationId}
      and id = ${id}`
}

export async function insertSettings(
  tx: Query,
  organizationId: string,
  applicationId: string,
  version: number,
  settings: AgentSettings,
): Promise<void> {
  await tx`
    insert into agent_application_settings (organization_id, application_id, version, settings)
    values (${organizationId}, ${applicationId}, ${version}, ${JSON.stringify(settings)}::text::jsonb)`
}

/** The data of an application that ingestion needs. */
export interface IngestApplication {
  readonly agentKey: string
  /** False: ingestion answers 404, because Agent Chats are not enabled for the workspace. */
  readonly chatsEnabled: boolean
  readonly settingsVersion: number
  readonly settings: AgentSettings
}

export async function findForIngest(
  sql: Query,
  organizationId: string,
  applicationId: string,
): Promise<IngestApplication | undefined> {
  const [row] = await sql<IngestApplication[]>`
    select
      a.agent_key as "agentKey",
      o.agent_chats_enabled as "chatsEnabled",
      a.settings_version as "settingsVersion",
      v.settings
    from agent_application a
    join organization o on o.id = a.organization_id
    join agent_application_settings v on v.application_id = a.id and v.version = a.settings_version
    where a.organization_id = ${organizationId}
      and a.id = ${applicationId}`
  return row
}

/** True where an application of the organization has this key. */
export async function hasAgentKey(sql: Query, organizationId: string, agentKey: string): Promise<boolean> {
  const rows = await sql`
    select 1 from agent_application
    where organization_id = ${organizationId}
      and agent_key = ${agentKey}`
  return rows.length > 0
}

/** The settings of the given versions that exist. */
export async function selectSettings(
  sql: Query,
  organizationId: string,
  applicationId: string,
  versions: readonly number[],
): Promise<readonly { readonly version: number; readonly settings: AgentSettings }[]> {
  return sql<{ version: number; settings: AgentSettings }[]>`
    select version, settings from agent_application_settings
    where organization_id = ${organizationId}
      and application_id = ${applicationId}
      and version = any(${versions as number[]}::int[])`
}
