/**
 * Connections that are terminated at the worst moment. Each test first shows the flaw of the bare driver, so
 * that a repaired driver is noticed.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { connect, type Sql, type Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  await database.sql`create table note (text text not null)`
})
beforeEach(async () => {
  await database.sql`truncate note`
})
afterAll(() => database.drop())

type Begin = (sql: Sql, work: (tx: Tx) => Promise<unknown>) => Promise<unknown>
const plain: Begin = (sql, work) => sql.begin((tx) => work(tx as Tx))

const inSavepoint: Begin = (sql, work) => transaction(sql, (tx) => tx.savepoint((inner) => work(inner as Tx)))

/**
 * The first transaction loses its connection and wakes up late, while the second one, on the only connection of the
 * pool, is about to roll back.
 * @returns the outcome of the late statement, and the committed rows
 */
async function lateStatement(begin: Begin): Promise<{ late: string; rows: readonly string[] }> {
  const sql = connect({ url: database.url }, { max: 1, applicationName: 'one connection' })
  const secondIsOpen = Promise.withResolvers<void>()
  const late = Promise.withResolvers<string>()
  const first = begin(sql, async (tx) => {
    await tx`insert into note values ('first')`
    const [backend] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    await database.sql`select pg_terminate_backend(${backend!.pid})`
    await secondIsOpen.promise
    try {
      await tx`insert into note values ('late')`
      late.resolve('accepted')
    } catch {
      late.resolve('refused')
    }
  })
  await first.then(
    () => expect.unreachable(),
    () => {},
  )
  const second = transaction(sql, async (tx) => {
    await tx`insert into note values ('second')`
    secondIsOpen.resolve()
    await late.promise
    // The statements that the library sends after the first callback have been sent.
    await tx`select 1`
    throw new Error('rolls back')
  })
  await second.catch(() => {})
  await sql.end({ timeout: 5 })
  const rows = await database.sql<{ text: string }[]>`select text from note order by text`
  return { late: await late.promise, rows: rows.map((row) => row.text) }
}

describe('a transaction whose connection was lost', () => {
  test('with the bare driver: commits another transaction', async () => {
    const { late, rows } = await lateStatement(plain)
    expect(late).toBe('accepted')
    expect(rows).toContain('second')
  })

  test('with our wrapper: every further statement is refused and ends nothing', async () => {
    expect(await lateStatement(transaction)).toEqual({ late: 'refused', rows: [] })
  })

  test('with our wrapper, in a savepoint: the same', async () => {
    expect(await lateStatement(inSavepoint)).toEqual({ late: 'refused', rows: [] })
  })
})

test('a connection terminated while opening fails its query, not the process', async () => {
  const unhandled: unknown[] = []
  const listener = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', listener)
  let done = false
  let kills = 0
  const killing = (async () => {
    while (!done) {
      // A new connection first requests the list of array types.
      const rows = await database.sql`
        select pg_terminate_backend(pid)
        from pg_stat_activity
        where application_name = 'being opened' and query ~ 'typarray' and state = 'active'`
      kills += rows.length
    }
  })()
  for (let i = 0; i < 500 && kills < 5; i++) {
    const sql = connect({ url: database.url }, { max: 1, applicationName: 'being opened' })
    await sql`select 1`.catch(() => {})
    await sql.end({ timeout: 5 })
  }
  done = true
  await killing
  process.off('unhandledRejection', listener)
  expect(kills).toBeGreaterThan(0)
  expect(unhandled).toEqual([])
}, 300_000)

test('the first query after a lost connection succeeds', async () => {
  const sql = connect({ url: database.url }, { max: 1, applicationName: 'lost' })
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const sleeping = sql`select pg_sleep(60)`.catch((error: { code: string }) => error.code)
  for (;;) {
    const rows = await database.sql`
      select 1 from pg_stat_activity where pid = ${backend!.pid} and query ~ 'pg_sleep' and state = 'active'`
    if (rows.length > 0) break
  }
  await database.sql`select pg_terminate_backend(${backend!.pid})`
  expect(await sleeping).toBeOneOf(['CONNECTION_CLOSED', '57P01', 'ECONNRESET'])
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
  await sql.end({ timeout: 5 })
})
