/**
 * The compiler takes row types of SQL on trust; this file compares them with the columns of the statements. Every
 * typed statement is executed once and described by PostgreSQL.
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

/** Nullable columns that are never null in these rows, because of a condition or a constraint. */
const NEVER_NULL_THERE = [
  ['src/people/erasure.store.ts', 'terms'], // an erasure that is not finished has terms
  ['src/calls/assets/store.ts', 'url'], // only media that are fetched from a URL
  ['src/tell/event-stream/log.store.ts', 'seq'], // only entries after a number
  ['src/understand/counts/digest/digest.store.ts', 'topic'], // only signals with a topic
  ['src/understand/counts/timeline/page.store.ts', 'occurredAt'], // only participants with a time
  ['src/calls/transcripts/status.store.ts', 'contentType'], // only media that are ready
  ['src/calls/transcripts/status.store.ts', 'isAudio'],
  ['src/calls/transcripts/status.store.ts', 'objectKey'],
  ['src/hear/agents/sessions/erasure.store.ts', 'sequence'],
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
}, 300_000)
afterAll(() => database.drop())

describe('rows of SQL', () => {
  test('every typed statement is executed', () => {
    expect(collected.statements.length).toBeGreaterThan(150)
    expect(collected.missed).toEqual([])
  })

  test('every row type matches the columns and types of its statement', async () => {
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
