/**
 * Connections that die silently: they are not closed, and nothing arrives. TCP notices after a quarter of an
 * hour, which is too late.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

setDefaultTimeout(300_000)

const OPTIONS = { max: 2, applicationName: 'half open', statementTimeoutMs: 1_000 }

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  await database.sql`create table note (text text not null)`
})
afterAll(() => database.drop())

interface Subject extends AsyncDisposable {
  readonly proxy: TcpProxy
  readonly sql: Sql
}

/** A proxy to the database that can be cut, and connections through it. */
async function open(): Promise<Subject> {
  const url = new URL(database.url)
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const sql = connect({ url: url.href }, OPTIONS)
  return {
    proxy,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end({ timeout: 0 })
      await proxy.stop()
    },
  }
}

/** The time until a silent connection is dropped: the longest time that a response may take. */
async function untilGivenUp(): Promise<void> {
  await using other = await open()
  await other.sql`select 1`
  other.proxy.setLine('silent')
  expect(await codeOf(other.sql`select 1`)).toBe('ANSWER_TIMEOUT')
}

const codeOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  )

// Each waits for seconds, and none for another.
test.concurrent('a query on a silent connection fails, and the next query takes a new connection', async () => {
  await using subject = await open()
  const { sql, proxy } = subject
  await Promise.all([sql`select 1`, sql`select 2`])
  proxy.setLine('silent')
  const asked = [codeOf(sql`select 1`), codeOf(sql`select 2`)]
  proxy.setLine('good')
  expect(await Promise.all(asked)).toEqual(['ANSWER_TIMEOUT', 'ANSWER_TIMEOUT'])
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})

test.concurrent('a transaction on a silent connection fails, and its row locks are released', async () => {
  await using subject = await open()
  const { sql, proxy } = subject
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

test.concurrent('a connection that goes silent while opening is dropped, too', async () => {
  await using subject = await open()
  const { sql, proxy } = subject
  proxy.setLine('silent')
  const asked = codeOf(sql`select 1`)
  await eventually(() => proxy.connections > 0)
  proxy.setLine('good')
  expect(await asked).toBe('CONNECT_TIMEOUT')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})

test.concurrent.each<[string, (sql: Sql) => Promise<unknown>]>([
  ['an idle connection', untilGivenUp],
  [
    'a busy connection',
    async (sql) => {
      for (let i = 0; i < 5; i++) await sql`select pg_sleep(0.8)`
    },
  ],
  [
    'a connection that is idle in a transaction',
    (sql) =>
      transaction(sql, async (tx) => {
        await tx`select 1`
        await untilGivenUp()
        await tx`select 1`
      }),
  ],
])('%s is kept', async (_, use) => {
  await using subject = await open()
  const pids = async () => [...(await subject.sql`select pg_backend_pid() as pid`)]
  const before = await pids()
  await use(subject.sql)
  expect(await pids()).toEqual(before)
})

test.concurrent('the server cancels a statement that takes too long, and keeps the connection', async () => {
  await using subject = await open()
  const { sql } = subject
  expect(await codeOf(sql`select pg_sleep(10)`)).toBe('57014')
  expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
})
