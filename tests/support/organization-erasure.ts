/** Rows in every table of an organization, and a look for what is left of it. */
import type { Query } from '../../src/platform/db/pool.ts'
import type { TestServer, TestTenant } from './server.ts'

interface Column {
  readonly name: string
  readonly type: string
}

const VALUES: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  text: "'x'",
  jsonb: "'{}'",
  bytea: "'\\x00'",
  boolean: 'false',
  date: 'current_date',
  tsvector: "'x'",
  'timestamp with time zone': 'now()',
  'text[]': "'{}'",
}

/** Where the kind of value does not do. */
const OF_COLUMNS: Readonly<Record<string, string>> = {
  state: "'failed'",
  channel: "'conversation'",
  role: "'viewer'",
}
/** Columns that a constraint asks for. */
const ALSO: Readonly<Record<string, string>> = { insight_subject: 'session_id', search_passage: 'session_id' }

const tablesWithOrganization = (sql: Query) => sql<{ name: string }[]>`
  select c.relname::text as name
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attname = 'organization_id' and not a.attisdropped
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
  order by 1`

/** A made-up row in each table whose constraints permit one, whatever it refers to. @returns tables that have no row now */
export async function fillTables(
  server: TestServer,
  { organizationId, userId }: TestTenant,
): Promise<readonly string[]> {
  const { sql } = server.database
  const of: Readonly<Record<string, string>> = { ...OF_COLUMNS, user_id: `'${userId}'` }
  const empty: string[] = []
  for (const { name } of await tablesWithOrganization(sql)) {
    const columns = await sql<Column[]>`
      select attname::text as name, format_type(atttypid, atttypmod) as type
      from pg_attribute
      where attrelid = ${name}::regclass and attnum > 0 and not attisdropped and attnotnull and not atthasdef
        and attidentity = '' and attname <> 'organization_id'`
    const also = ALSO[name]
    if (also !== undefined) columns.push({ name: also, type: 'uuid' })
    const names = ['organization_id', ...columns.map((column) => column.name)]
    const made = columns.map((column) => of[column.name] ?? VALUES[column.type] ?? '1')
    const values = [`'${organizationId}'`, ...made]
    await sql
      .begin(async (tx) => {
        await tx`set local session_replication_role = replica` // without triggers and references
        await tx.unsafe(`insert into ${name} (${names.join(', ')}) values (${values.join(', ')})`)
      })
      .catch(() => undefined)
    const [row] = await sql`select 1 from ${sql(name)} where organization_id = ${organizationId} limit 1`
    if (row === undefined) empty.push(name)
  }
  return empty
}

/** Rows of any table, mailboxes and queues included, in whose text one of the ids stands. */
export async function rowsNaming(server: TestServer, ids: readonly string[]): Promise<readonly string[]> {
  const { sql } = server.database
  const tables = await sql<{ name: string }[]>`
    select relname::text as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`
  const found = await Promise.all(
    tables.map(async ({ name }) => {
      const rows = await sql<{ text: string }[]>`
        select t::text as text from ${sql(name)} t
        where ${sql.unsafe(ids.map((id) => `t::text like '%${id}%'`).join(' or '))}`
      return rows.map(({ text }) => `${name}: ${text}`)
    }),
  )
  return found.flat()
}

/** Runs the erasure in this process until the organization is gone. Files that are due later are due at once. */
export async function eraseNow(server: TestServer, organizationId: string): Promise<void> {
  const { sql } = server.database
  const task = server.features.maintenance.find(({ name }) => name === 'organization_erasure')
  for (let round = 0; round < 50; round++) {
    await task?.run(new AbortController().signal)
    const [left] = await sql`select 1 from organization where id = ${organizationId}`
    if (left === undefined) return
    await sql`update upload_garbage set delete_after = now() where organization_id = ${organizationId}`
    await sql`update media_garbage set delete_after = now() where organization_id = ${organizationId}`
  }
  throw new Error('the organization is not erased')
}
