/** The service with two organizations, and helpers that write rows of another organization and of integrations. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from './server.ts'

export const SOURCES = '/v3/rest/metadata/sources'
export const FIELDS = '/v3/rest/metadata/fields'

export interface Tenant extends TestTenant {
  /** Uses the organization's key. */
  readonly key: Client
  /** Uses the user's token. */
  readonly user: Client
}

/** Creates an organization that no other test uses. */
export async function createTenant(server: TestServer): Promise<Tenant> {
  const tenant = await server.createTenant()
  const { apiKey, userToken } = tenant
  return { ...tenant, key: server.as({ apiKey }), user: server.as({ userToken }) }
}

/** Creates a source and returns its id. */
export async function createSource(client: Client, externalEntityName: string = newId()): Promise<string> {
  const { status, body } = await client.post(SOURCES, { externalEntityName })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

/** Creates a field and returns its id. */
export async function createField(client: Client, sourceId: string, field: object = {}): Promise<string> {
  const path = `${SOURCES}/${sourceId}/fields`
  const { status, body } = await client.post(path, { name: newId(), type: 'string', ...field })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body.id
}

/** The id of the canonical source. Listing the sources creates it. */
export async function canonicalSource(client: Client): Promise<string> {
  const { body } = await client.get(SOURCES)
  return body.find((source: { isCanonicalRecordingSource: boolean }) => source.isCanonicalRecordingSource).id
}

/** Creates a source with one field, as an integration does. */
export async function insertIntegration(sql: Sql, organizationId: string) {
  const [sourceId, fieldId] = [newId(), newId()]
  await sql`
    insert into metadata_source (id, organization_id, external_entity_name, type, managed_by)
    values (${sourceId}, ${organizationId}, ${sourceId}, 'salesforce', 'integration')`
  await sql`
    insert into metadata_field (id, organization_id, source_id, name, type)
    values (${fieldId}, ${organizationId}, ${sourceId}, 'Stage', 'string')`
  return { sourceId, fieldId }
}

/** All stored definitions, for a comparison before and after. */
export async function definitions(sql: Sql, organizationId: string) {
  const [row] = await sql`
    select
      (select json_agg(s order by s.id) from metadata_source s where s.organization_id = ${organizationId}) as sources,
      (select json_agg(f order by f.id) from metadata_field f where f.organization_id = ${organizationId}) as fields`
  return row
}

/** Creates a recording that has only an id. */
export async function insertRecording(sql: Sql, organizationId: string): Promise<string> {
  const id = newId()
  await sql`
    insert into recording (id, organization_id, source, transcript_status)
    values (${id}, ${organizationId}, 'api', 'waiting')`
  return id
}

export { startTestServer, type TestServer }
