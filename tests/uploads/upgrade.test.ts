/** Migrations of a running service: processes of the version before continue until they are replaced. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** Adds the columns for uploads with retained bytes. */
const KEPT_UPLOADS = 12
/** Renames `store_memory`. */
const RESUME_STATE = 25

let database: TestDatabase

beforeEach(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterEach(() => database.drop())

const ids = () => [1, 2, 3].map(() => crypto.randomUUID()) as [string, string, string]

test('the migration waits for a transaction that has locked a recording, and neither is rolled back', async () => {
  const { sql } = database
  await migrate(
    sql,
    MIGRATIONS.filter(({ number }) => number < KEPT_UPLOADS),
  )
  const [organization, recording, upload] = ids()
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
    // PostgreSQL would abort this transaction in a deadlock.
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

describe('while processes older than `resume_state` are still running', () => {
  /** The state of the object store. The older version uses other names for two members. */
  const older = { uploadId: 'u', next: 1, tail: null, litter: ['a'], strays: ['b'] }
  const newer = { uploadId: 'u', next: 1, tail: null, orphanKeys: ['a'], possibleOrphans: ['b'] }

  const prepared = async () => {
    const { sql } = database
    await migrate(
      sql,
      MIGRATIONS.filter(({ number }) => number < RESUME_STATE),
    )
    const [organization, recording, upload] = ids()
    await sql`insert into organization (id, name) values (${organization}, 'Acme')`
    await sql`
      insert into recording (id, organization_id, source, asset_status, transcript_status)
      values (${recording}, ${organization}, 'api', 'uploading', 'waiting')`
    await sql`
      insert into upload (
        id, organization_id, recording_id, phase, file_name, file_size, source, token_hash, object_key, expires_at,
        store_memory
      )
      values (
        ${upload}, ${organization}, ${recording}, 'waiting', 'call.mp4', 10, 'api', '\\x00', 'key', now() + interval '1 h',
        ${sql.json(older)}
      )`
    await sql`
      insert into upload_garbage (object_key, organization_id, store_memory, delete_after)
      values ('before', ${organization}, ${sql.json(older)}, now())`
    await migrate(sql, MIGRATIONS)
    return { sql, organization, upload }
  }

  test('state stored before the migration is read under the new name', async () => {
    const { sql } = await prepared()
    expect(await sql`select resume_state from upload`).toMatchObject([{ resume_state: newer }])
    expect(await sql`select resume_state from upload_garbage`).toMatchObject([{ resume_state: newer }])
  })

  test('no write of either version is lost to the other', async () => {
    const { sql, organization, upload } = await prepared()
    const state = () => sql`select store_memory, resume_state from upload where id = ${upload}`
    const write = (values: Parameters<typeof sql.json>[0] | null, column: string) => sql`
      update upload
      set ${sql(column)} = ${values === null ? null : sql.json(values)}
      where organization_id = ${organization} and id = ${upload}`
    await write({ ...older, next: 2 }, 'store_memory')
    expect(await state()).toMatchObject([{ resume_state: { ...newer, next: 2 } }])
    await write({ ...newer, next: 3, orphanKeys: ['c'] }, 'resume_state')
    expect(await state()).toMatchObject([{ store_memory: { ...older, next: 3, litter: ['c'] } }])
    await write({ ...older, next: 4 }, 'store_memory')
    expect(await state()).toMatchObject([{ resume_state: { ...newer, next: 4 } }])
    await write(null, 'store_memory')
    expect(await state()).toMatchObject([{ store_memory: null, resume_state: null }])
    await write({ files: [] }, 'resume_state')
    expect(await state()).toMatchObject([{ store_memory: { files: [] } }])
    await write(null, 'resume_state')
    expect(await state()).toMatchObject([{ store_memory: null, resume_state: null }])
  })

  test('each version deletes bytes that the other discarded', async () => {
    const { sql, organization } = await prepared()
    await sql`
      insert into upload_garbage (object_key, organization_id, store_memory, delete_after)
      select 'older', organization_id, store_memory, now()
      from upload
      on conflict (object_key) do nothing`
    await sql`
      insert into upload_garbage (object_key, organization_id, resume_state, delete_after)
      select 'newer', organization_id, resume_state, now()
      from upload
      on conflict (object_key) do nothing`
    const both = { store_memory: older, resume_state: newer }
    expect(
      await sql`
        select store_memory, resume_state
        from upload_garbage
        where organization_id = ${organization}`,
    ).toMatchObject([both, both, both])
  })
})
