/**
 * Connections that die silently: they are not closed, and nothing arrives. TCP notices after a quarter of an
 * hour, which is too late.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const OPTIONS = { max: 2, applicationName: 'half open', statementTimeoutMs: 1_000 }

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
  ;[proxy, sql] = await throughProxy()
})
afterEach(async () => {
  await sql.end({ timeout: 0 })
  await proxy.stop()
})

/** A proxy to the database that can be cut, and connections through it. */
async function throughProxy(): Promise<[TcpProxy, Sql]> {
  const url = new URL(database.url)
  const line = await startTcpProxy(Number(url.port))
  url.port = String(line.port)
  return [line, connect({ url: url.href }, OPTIONS)]
}

/** The time until a silent connection is dropped: the longest time that a response may take. */
async function untilGivenUp(): Promise<void> {
  const [line, other] = await throughProxy()
  await other`select 1`
  line.setLine('silent')
  expect(await codeOf(other`select 1`)).toBe('ANSWER_TIMEOUT')
  await other.end({ timeout: 0 })
  await line.stop()
}

const codeOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  )

test('a query on a silent connection fails, and the next query takes a new connection', async () => {
  await Promise.all([sql`select 1`, sql`select 2`])
  proxy.setLine('silent')
  const asked = [codeOf(sql`select 1`), codeOf(sql`select 2`)]
  proxy.setLine('good')
  expect(await Promise.all(asked)).toEqual(['ANSWER_TIMEOUT', 'ANSWER_TIMEOUT'])
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})

test('a transaction on a silent connection fails, and its row locks are released', async () => {
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

test('a connection that goes silent while opening is dropped, too', async () => {
  proxy.setLine('silent')
  const asked = codeOf(sql`select 1`)
  await eventually(() => proxy.connections > 0)
  proxy.setLine('good')
  expect(await asked).toBe('CONNECT_TIMEOUT')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
}, 300_000)

test('a busy or an idle connection is kept', async () => {
  const pids = async () => [...(await sql`select pg_backend_pid() as pid`)]
  const before = await pids()
  await untilGivenUp() // meanwhile nothing is asked here
  for (let i = 0; i < 5; i++) await sql`select pg_sleep(0.8)`
  await transaction(sql, async (tx) => {
    await tx`select 1`
    await untilGivenUp()
    await tx`select 1`
  })
  expect(await pids()).toEqual(before)
}, 300_000)

test('the server cancels a statement that takes too long, and keeps the connection', async () => {
  expect(await codeOf(sql`select pg_sleep(10)`)).toBe('57014')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})
