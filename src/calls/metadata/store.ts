/**
 * SQL of metadata sources and fields.
 *
 * Unique constraints keep names apart, not a look beforehand. Of many concurrent writers one wins; the others get a
 * conflict.
 */
import type { Query } from '../../platform/db/pool.ts'
import { isUniqueViolation } from '../../platform/db/sqlstate.ts'
import { API_TYPE, CANONICAL_NAME, type Field, type FieldType, type Source } from './model.ts'

/** A page by number, starting with 1. */
export interface NumberedPage {
  readonly page: number
  readonly limit: number
}

/** The result of a rename: `taken` if another object of its kind has the name. */
export type Renamed<T> = T | 'taken' | undefined

const sourceColumns = (sql: Query) => sql`
  s.id, s.external_entity_name as "externalEntityName", s.type, s.managed_by as "managedBy",
  s.is_canonical_recording_source as "isCanonicalRecordingSource",
  s.created_at as "createdAt", s.updated_at as "updatedAt"`

const fieldColumns = (sql: Query) => sql`
  f.id, f.source_id as "sourceId", f.name, f.type, f.created_at as "createdAt", f.updated_at as "updatedAt"`

/** The offset is computed as int8, so that the highest page number gives an empty page instead of an overflow. */
const pageOf = (sql: Query, { page, limit }: NumberedPage) => sql`
  limit ${limit}
  offset (${page}::bigint - 1) * ${limit}::bigint`

export async function findCanonicalSourceId(sql: Query, organizationId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id
    from metadata_source
    where organization_id = ${organizationId}
      and is_canonical_recording_source`
  return row?.id
}

/** Waits for a concurrent insert. Afterwards exactly one canonical source exists. */
export async function insertCanonicalSource(sql: Query, organizationId: string, id: string): Promise<void> {
  await sql`
    insert into metadata_source (
      id, organization_id, external_entity_name, type, managed_by, is_canonical_recording_source
    )
    values (${id}, ${organizationId}, ${CANONICAL_NAME}, ${API_TYPE}, 'service', true)
    on conflict do nothing`
}

/** The canonical source first, then the oldest first, so that new sources never shift earlier pages. */
export function listSources(sql: Query, organizationId: string, page: NumberedPage) {
  return sql<Source[]>`
    select ${sourceColumns(sql)}
    from metadata_source s
    where s.organization_id = ${organizationId}
    order by s.is_canonical_recording_source desc, s.created_at, s.id
    ${pageOf(sql, page)}`
}

export async function findSource(
  sql: Query,
  organizationId: string,
  id: string,
): Promise<Source | undefined> {
  const [row] = await sql<Source[]>`
    select ${sourceColumns(sql)}
    from metadata_source s
    where s.organization_id = ${organizationId}
      and s.id = ${id}`
  return row
}

/** @returns undefined if a source of type `api` has the name */
export async function insertSource(
  sql: Query,
  row: { readonly id: string; readonly organizationId: string; readonly name: string },
): Promise<Source | undefined> {
  const [inserted] = await sql<Source[]>`
    insert into metadata_source as s (id, organization_id, external_entity_name, type, managed_by)
    values (${row.id}, ${row.organizationId}, ${row.name}, ${API_TYPE}, 'customer')
    on conflict (organization_id, type, external_entity_name) do nothing
    returning ${sourceColumns(sql)}`
  return inserted
}

/** One statement. Do not use it inside a transaction, which a taken name would abort. */
export async function renameSource(
  sql: Query,
  organizationId: string,
  id: string,
  name: string,
): Promise<Renamed<Source>> {
  return unlessTaken('metadata_source_name', async () => {
    const [row] = await sql<Source[]>`
      update metadata_source s
      set external_entity_name = ${name}, updated_at = now()
      where s.organization_id = ${organizationId}
        and s.id = ${id}
      returning ${sourceColumns(sql)}`
    return row
  })
}

/** Oldest first. */
export function listFields(sql: Query, organizationId: string, sourceId: string, page: NumberedPage) {
  return sql<Field[]>`
    select ${fieldColumns(sql)}
    from metadata_field f
    where f.organization_id = ${organizationId}
      and f.source_id = ${sourceId}
    order by f.created_at, f.id
    ${pageOf(sql, page)}`
}

export async function findField(sql: Query, organizationId: string, id: string): Promise<Field | undefined> {
  const [row] = await sql<Field[]>`
    select ${fieldColumns(sql)}
    from metadata_field f
    where f.organization_id = ${organizationId}
      and f.id = ${id}`
  return row
}

/** @returns undefined if a field of the source has the name */
export async function insertField(
  sql: Query,
  row: {
    readonly id: string
    readonly organizationId: string
    readonly sourceId: string
    readonly name: string
    readonly type: FieldType
  },
): Promise<Field | undefined> {
  const [inserted] = await sql<Field[]>`
    insert into metadata_field as f (id, organization_id, source_id, name, type)
    values (${row.id}, ${row.organizationId}, ${row.sourceId}, ${row.name}, ${row.type})
    on conflict (source_id, name) do nothing
    returning ${fieldColumns(sql)}`
  return inserted
}

/** One statement. Do not use it inside a transaction, which a taken name would abort. */
export async function renameField(
  sql: Query,
  organizationId: string,
  id: string,
  name: string,
): Promise<Renamed<Field>> {
  return unlessTaken('metadata_field_name', async () => {
    const [row] = await sql<Field[]>`
      update metadata_field f
      set name = ${name}, updated_at = now()
      where f.organization_id = ${organizationId}
        and f.id = ${id}
      returning ${fieldColumns(sql)}`
    return row
  })
}

async function unlessTaken<T>(constraint: string, write: () => Promise<T>): Promise<T | 'taken'> {
  try {
    return await write()
  } catch (error) {
    if (isUniqueViolation(error, constraint)) return 'taken'
    throw error
  }
}
