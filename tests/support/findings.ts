/** Findings of every channel, and what they are about, written directly. */
import type { Sql } from '../../src/platform/db/pool.ts'
import { newId } from '../../src/platform/ids.ts'

type Values = Readonly<Record<string, unknown>>

/** Writes a finding and returns its id. Default: a complaint of the tier `sure`. */
export async function insertFinding(sql: Sql, organizationId: string, values: Values): Promise<string> {
  const { created_at: created, ...given } = values
  const row = {
    id: newId(),
    organization_id: organizationId,
    source: 'qualitative_inference',
    kind: 'complaint',
    rating: 'negative',
    comment: 'It is bad.',
    confidence: 0.9,
    tier: 'sure',
    analyzer_name: 'builtin',
    analyzer_version: '1',
    language: 'en',
    occurred_at: '2026-01-02T03:04:05Z',
    ...given,
  }
  await sql`insert into agent_signal ${sql(row)}`
  // The driver would cut the microseconds of a timestamptz parameter.
  if (created !== undefined)
    await sql`update agent_signal set created_at = ${String(created)}::text::timestamptz where id = ${row.id}`
  return row.id
}

export async function insertRecord(sql: Sql, organizationId: string) {
  const [source] = await sql<{ id: number }[]>`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, ${newId()}, 'api') returning id`
  const [record] = await sql<{ id: number }[]>`
    insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
    values (${organizationId}, ${source!.id}, now(), '[]')
    returning id`
  return { recordId: record!.id, sourceId: source!.id }
}

export async function insertRecording(sql: Sql, organizationId: string): Promise<string> {
  const id = newId()
  await sql`
    insert into recording (id, organization_id, source, transcript_status)
    values (${id}, ${organizationId}, 'upload', 'completed')`
  return id
}

/** Puts the recording into a new private folder of the user. */
export async function fileIn(
  sql: Sql,
  organizationId: string,
  recordingId: string,
  userId: string,
): Promise<void> {
  const id = newId()
  await sql`
    insert into folder (id, organization_id, owner_user_id, name) values (${id}, ${organizationId}, ${userId}, 'Mine')`
  await sql`
    insert into recording_folder (organization_id, recording_id, folder_id) values (${organizationId}, ${recordingId}, ${id})`
}

export async function insertPerson(sql: Sql, organizationId: string) {
  const uuid = newId()
  const [row] = await sql<{ id: number }[]>`
    insert into person (public_id, organization_id, email) values (${uuid}, ${organizationId}, ${`${uuid}@example.com`})
    returning id`
  return { id: row!.id, uuid }
}
