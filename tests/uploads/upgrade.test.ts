/** The schema changes under a service that is in use: processes of the version before go on until they are replaced. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** Of the columns for uploads that are kept. */
const KEPT_UPLOADS = 12

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterAll(() => database.drop())

test('a transaction that has locked a recording changes its uploads, and then the migration goes on: neither is ended', async () => {
  const { sql } = database
  await migrate(
    sql,
    MIGRATIONS.filter(({ number }) => number < KEPT_UPLOADS),
  )
  const [organization, recording, upload] = [1, 2, 3].map(() => crypto.randomUUID()) as [
    string,
    string,
    string,
  ]
  await sql`insert into organization (id, name) values (${organization}, 'Acme')`
  await sql`
    insert into recording (id, organization_id, source, asset_status, transcript_status)
    values (${recording}, ${organization}, 'api', 'processing', 'waiting')`
  await sql`
    insert into upload (
      id, organization_id, recording_id, phase, file_name, file_size, source, token_hash, object_key, expires_at
    )
    values (
      ${upload}, ${organization}, ${recording}, 'processing', 'call.mp4', 10, 'api', '\\x00', 'key', now()
    )`
  let migrated: ReturnType<typeof migrate> | undefined
  await sql.begin(async (tx) => {
    // Of two that wait for each other it is this one that is ended.
    await tx`set local deadlock_timeout = '10ms'`
    await tx`select 1 from recording where id = ${recording} for update`
    migrated = migrate(sql, MIGRATIONS)
    await eventually(async () => {
      const waiting = await tx`
        select 1
        from pg_locks
        where not granted
          and database = (select oid from pg_database where datname = current_database())`
      return waiting.length > 0
    })
    await tx`update upload set phase = 'failed', error_code = 'processing_failed' where id = ${upload}`
    await tx`update recording set asset_status = 'failed' where id = ${recording}`
  })
  expect(await migrated).toContain(KEPT_UPLOADS)
  const rows = await sql`select phase, bytes_kept as kept from upload`
  expect(rows).toMatchObject([{ phase: 'failed', kept: false }])
})
