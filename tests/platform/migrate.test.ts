/** Migrations of a database in use: many processes at once, indexes built during writes, and interrupted builds. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { type Migration, migrate } from '../../src/platform/db/migrate.ts'
import { CONCURRENTLY, indexSteps } from '../../src/platform/db/migrate-indexes.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const TABLE: Migration = {
  number: 1,
  name: 'table',
  source:
    'create table thing (id int primary key, size int, name text); insert into thing select i, i, i from generate_series(1, 1000) i',
}
const INDEXES: Migration = {
  number: 2,
  name: 'indexes',
  source: `${CONCURRENTLY}
    create index concurrently if not exists thing_size on thing (size); -- of things
    create index concurrently if not exists thing_name on thing (name);`,
}
const COLUMN: Migration = { number: 3, name: 'column', source: 'alter table thing add column color text' }
const ALL = [TABLE, INDEXES, COLUMN]

let database: TestDatabase
const pools: Sql[] = []

beforeEach(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end({ timeout: 5 })))
  await database.drop()
})

/** A connection like that of a starting process. */
const oneConnection = () => {
  const pool = connect(
    { url: database.url },
    { max: 1, applicationName: 'starting', statementTimeoutMs: null },
  )
  pools.push(pool)
  return pool
}
const indexes = async () => {
  const rows = await database.sql<{ name: string; valid: boolean }[]>`
    select indexrelid::regclass::text as name, indisvalid as valid
    from pg_index
    where indrelid = 'thing'::regclass and not indisprimary
    order by 1`
  return rows.map(({ name, valid }) => `${name} ${valid ? 'valid' : 'invalid'}`)
}
const waiting = async () => {
  const rows = await database.sql`
    select 1
    from pg_stat_activity
    where datname = current_database() and query like 'create index%' and wait_event_type = 'Lock'`
  return rows.length > 0
}

describe('migrate', () => {
  test('applies pending migrations in order, also around indexes built outside a transaction', async () => {
    expect(await migrate(oneConnection(), ALL)).toEqual([1, 2, 3])
    expect(await indexes()).toEqual(['thing_name valid', 'thing_size valid'])
    expect(await migrate(oneConnection(), ALL)).toEqual([])
  })

  test('by ten processes at once applies everything once', async () => {
    const applied = await Promise.all(Array.from({ length: 10 }, () => migrate(oneConnection(), ALL)))
    expect(applied.flat().toSorted()).toEqual([1, 2, 3])
    expect(await indexes()).toEqual(['thing_name valid', 'thing_size valid'])
  })

  test('builds indexes while an older process keeps writing, and waits only for earlier writers', async () => {
    await migrate(oneConnection(), [TABLE])
    let migrated: Promise<readonly number[]> | undefined
    await database.sql.begin(async (tx) => {
      await tx`insert into thing values (2000, 1, 'before')`
      migrated = migrate(oneConnection(), ALL)
      await eventually(waiting)
      // A plain build would block this write until it ends, while it waits for our own transaction.
      await database.sql`insert into thing values (2001, 1, 'meanwhile')`
      await database.sql`update thing set size = 7 where id = 2001`
    })
    expect(await migrated).toEqual([2, 3])
    const found = await database.sql`select id from thing where size = 7 and id > 1000`
    expect(found.map(({ id }) => id)).toEqual([2001])
  })

  test('resumes after an interrupted build, and rebuilds an invalid index', async () => {
    await migrate(oneConnection(), [TABLE])
    const lost = oneConnection()
    await database.sql.begin(async (tx) => {
      await tx`insert into thing values (2000, 1, 'before')`
      const cut = migrate(lost, ALL).then(
        () => 'applied',
        () => 'cut off',
      )
      await eventually(waiting)
      await tx`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where datname = current_database() and application_name = 'starting' and query like 'create index%'`
      expect(await cut).toBe('cut off')
    })
    expect(await indexes()).toEqual(['thing_size invalid'])
    expect(await migrate(oneConnection(), ALL)).toEqual([2, 3])
    expect(await indexes()).toEqual(['thing_name valid', 'thing_size valid'])
  })
})

describe('a migration that runs concurrently', () => {
  test('may only build and drop indexes', () => {
    expect(indexSteps(INDEXES.source).map(({ index }) => index)).toEqual(['thing_size', 'thing_name'])
    expect(indexSteps('drop index concurrently if exists thing_size;')).toMatchObject([{ action: 'drop' }])
    expect(indexSteps('create unique index concurrently thing_size on thing (size);')).toMatchObject([
      { action: 'create', index: 'thing_size' },
    ])
    for (const source of [
      'create index thing_size on thing (size);',
      'drop table thing',
      'select 1; drop index a',
    ])
      expect(() => indexSteps(source)).toThrow('another statement')
  })

  test('of this service is well-formed', () => {
    for (const { source } of MIGRATIONS)
      if (source.startsWith(CONCURRENTLY)) expect(indexSteps(source).length).toBeGreaterThan(0)
  })
})
