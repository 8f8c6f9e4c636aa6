/**
 * The compiler does not check the row types of SQL statements. This test has PostgreSQL describe every typed statement, and compares
 * the columns with the row type.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { mistakesOf, readCatalog } from '../support/sql-rows/compare.ts'
import { collectStatements, type Statements } from '../support/sql-rows/statements.ts'

const STORES = [
  'src/**/*.store.ts',
  'src/**/store.ts',
  'src/actors/{dead-letters,gauge-statements,mailbox,mailbox-reads,statements,worker-statements}.ts',
]

/** Nullable columns that are never null in the rows of the statement, because its condition or a constraint excludes it. */
const NEVER_NULL_THERE = [
  ['src/people/erasure.store.ts', 'terms'], // an unfinished erasure has terms
  ['src/assets/store.ts', 'url'], // only media that are fetched from a URL
  ['src/transcribe/store.ts', 'contentType'], // only media that are ready
  ['src/transcribe/store.ts', 'isAudio'],
  ['src/transcribe/store.ts', 'objectKey'],
] as const

function isKnown(mistake: string): boolean {
  return NEVER_NULL_THERE.some(
    ([file, column]) => mistake.startsWith(`${file}:`) && mistake.endsWith(`: ${column} may be null`),
  )
}

let database: TestDatabase
let collected: Statements

beforeAll(async () => {
  database = await createTestDatabase()
  collected = await collectStatements(STORES)
}, 120_000)
afterAll(() => database.drop())

describe('rows of SQL', () => {
  test('every typed statement is found', () => {
    expect(collected.statements.length).toBeGreaterThan(150)
    expect(collected.missed).toEqual([])
  })

  test('every row type has the columns and types of its statement', async () => {
    const catalog = await readCatalog(database.sql)
    const mistakes: string[] = []
    for (const statement of collected.statements)
      for (const mistake of await mistakesOf(database.sql, catalog, collected.checker, statement).catch(
        (error: Error) => [`${error.message}: ${statement.text}`],
      ))
        mistakes.push(`${statement.place}: ${mistake}`)
    expect([...new Set(mistakes)].filter((mistake) => !isKnown(mistake))).toEqual([])
  })
})
