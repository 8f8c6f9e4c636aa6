/**
 * Connections that die without a word: nobody closes them, and nothing comes back. TCP notices after a quarter of an
 * hour; we may not wait for that.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let database: TestDatabase
let proxy: TcpProxy
let sql: Sql
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  await database.sql`create table note (text text not null)`
})
afterAll(() => database.drop())
beforeEach(async () => {
  await database.sql`truncate note`
  const url = new URL(database.url)
  proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  sql = connect({ url: url.href }, { max: 2, applicationName: 'half open', statementTimeoutMs: 1_000 })
})
afterEach(async () => {
  await sql.end({ timeout: 0 })
  await proxy.stop()
})

const codeOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  )

test('a query on a connection that has gone silent fails, and the next one takes a new connection', async () => {
  await Promise.all([sql`select 1`, sql`select 2`])
  proxy.setLine('silent')
  const asked = [codeOf(sql`select 1`), codeOf(sql`select 2`)]
  proxy.setLine('good')
  expect(await Promise.all(asked)).toEqual(['ANSWER_TIMEOUT', 'ANSWER_TIMEOUT'])
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})

test('so does a transaction in the middle, and its rows are free again', async () => {
  const work = transaction(sql, async (tx) => {
    await tx`insert into note values ('lost')`
    await tx`select pg_advisory_xact_lock(1)`
    proxy.setLine('silent')
    await tx`insert into note values ('never arrives')`
  })
  expect(await codeOf(work)).toBeOneOf(['ANSWER_TIMEOUT', 'CONNECTION_CLOSED'])
  proxy.setLine('good')
  expect([...(await sql`select * from note`)]).toEqual([])
})

test('a connection that goes silent while it is opened is given up, too', async () => {
  proxy.setLine('silent')
  const asked = codeOf(sql`select 1`)
  await eventually(() => proxy.connections > 0)
  proxy.setLine('good')
  expect(await asked).toBe('CONNECT_TIMEOUT')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
}, 30_000)

test('a connection that has much to say, or nothing to do, is left alone', async () => {
  const pids = async () => [...(await sql`select pg_backend_pid() as pid`)]
  const before = await pids()
  await Bun.sleep(3_500) // longer than any answer may take, and nothing is asked
  for (let i = 0; i < 5; i++) await sql`select pg_sleep(0.8)`
  await transaction(sql, async (tx) => {
    await tx`select 1`
    await Bun.sleep(3_500)
    await tx`select 1`
  })
  expect(await pids()).toEqual(before)
}, 30_000)

test('the server ends a statement that takes too long, and keeps the connection', async () => {
  expect(await codeOf(sql`select pg_sleep(10)`)).toBe('57014')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})
