/** What the tables of uploads are asked for when something else goes. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** Columns that refer to another table, of tables with that name, and whether some index begins with them. */
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

test('deleting a user, an organization or a recording scans neither uploads nor recordings: each reference has an index', async () => {
  const found = await references('upload%', 'recording%')
  expect(found.length).toBeGreaterThan(4)
  expect(found.filter(({ indexed }) => !indexed)).toEqual([])
})
