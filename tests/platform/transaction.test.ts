/** Statements after the end of a transaction. The first test shows the flaw of the bare driver. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql, type Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  await database.sql`create table note (number int not null)`
})
beforeEach(async () => {
  await database.sql`truncate note`
})
afterAll(() => database.drop())

type Begin = (sql: Sql, work: (tx: Tx) => Promise<unknown>) => Promise<unknown>
const plain: Begin = (sql, work) => sql.begin((tx) => work(tx as Tx))

/** One part of the work fails while the other keeps writing. @returns the committed writes of the other part */
async function restOf(begin: Begin): Promise<readonly number[]> {
  const sql = connect({ url: database.url }, { max: 1, applicationName: 'one connection' })
  let rest: Promise<unknown> = Promise.resolve()
  const failed = begin(sql, async (tx) => {
    const isUnderWay = Promise.withResolvers<void>()
    rest = (async () => {
      for (let number = 1; number <= 100; number++) {
        await tx`insert into note values (${number})`
        if (number === 10) isUnderWay.resolve()
      }
    })()
    await Promise.all([
      rest,
      isUnderWay.promise.then(() => {
        throw new Error('no')
      }),
    ])
  })
  await expect(failed).rejects.toThrow('no')
  await rest.catch(() => {})
  await sql.end({ timeout: 5 })
  return (await database.sql<{ number: number }[]>`select number from note`).map((note) => note.number)
}

test('the bare driver runs statements after ROLLBACK outside the transaction', async () => {
  expect(await restOf(plain)).not.toEqual([])
})

test('statements after a failed transaction are refused', async () => {
  expect(await restOf(transaction)).toEqual([])
})

test('statements of a read-only transaction see the same moment', async () => {
  const { sql } = database
  await sql`insert into note values (1)`
  const counts = await transaction(
    sql,
    async (tx) => {
      const read = () => tx<{ count: number }[]>`select count(*)::int as count from note`
      const before = await read()
      await sql`insert into note values (2)`
      return [...before, ...(await read())].map(({ count }) => count)
    },
    'read only',
  )
  expect(counts).toEqual([1, 1])
})
