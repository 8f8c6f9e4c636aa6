/** References to other tables have indexes, so that deletions there do not scan the tables of uploads. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** Foreign key columns of the named tables, and whether an index begins with them. */
const references = (...tables: string[]) => database.sql<{ place: string; indexed: boolean }[]>`
  select
    c.conrelid::regclass || '.' || a.attname as place,
    exists (
      select 1
      from pg_index i
      where i.indrelid = c.conrelid
        and i.indkey[0] = c.conkey[1]
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) = format('(%I IS NOT NULL)', a.attname))
    ) as indexed
  from pg_constraint c
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
  where c.contype = 'f'
    and c.conrelid::regclass::text like any (${tables}::text[])
  order by 1`

test('every reference to users, organizations and recordings has an index', async () => {
  const found = await references('upload%', 'recording%')
  expect(found.length).toBeGreaterThan(4)
  expect(found.filter(({ indexed }) => !indexed)).toEqual([])
})
