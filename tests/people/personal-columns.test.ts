/** Every column that can hold text is erased, named in `left`, or declared to have no text about customers. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { LEFT_BY_ERASURE } from '../../src/people/model.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { DERIVED, ERASED, FREE, LEFT, UNTIL_THE_END } from './personal-columns.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

test('each column with text has exactly one decision, and each decision a column', async () => {
  const rows = await database.sql<{ column: string }[]>`
    select c.table_name || '.' || c.column_name as column
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public'
      and t.table_type = 'BASE TABLE'
      and c.udt_name not in ('uuid', 'int8', 'int4', 'int2', 'float8', 'float4', 'bool', 'timestamptz', 'date')`
  const free = Object.entries(FREE).flatMap(([table, columns]) => columns.map((name) => `${table}.${name}`))
  const decided = [...Object.values(ERASED), DERIVED, UNTIL_THE_END, ...Object.values(LEFT), free].flat()
  expect(decided.toSorted()).toEqual(rows.map(({ column }) => column).toSorted())
})

test('the decisions name parts of the erasure and words of its answer', async () => {
  expect(Object.keys(LEFT).filter((word) => !(LEFT_BY_ERASURE as readonly string[]).includes(word))).toEqual(
    [],
  )
  const sources = await Array.fromAsync(new Bun.Glob('src/**/*erasure.ts').scan(), (path) =>
    Bun.file(path).text(),
  )
  const names = Object.keys(ERASED).filter((name) => name !== 'request')
  expect(names.filter((name) => !sources.some((text) => text.includes(`'${name}'`)))).toEqual([])
})
