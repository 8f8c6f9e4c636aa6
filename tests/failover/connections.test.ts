/** Pools while connections cannot be opened, end, or answer that nothing was stored. Each test runs the driver as the service does. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import postgres from 'postgres'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { rounds } from '../support/rounds.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

setDefaultTimeout(300_000)

/** What opening a connection may take, and some more. */
const OPENING_MS = 7_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  await database.sql`create table note (number int not null)`
})
afterAll(() => database.drop())

async function using(
  url: string,
  work: (sql: Sql) => Promise<void>,
  options: { readonly max?: number; readonly session?: boolean } = {},
): Promise<void> {
  const sql = connect({ url }, { max: 4, applicationName: 'failover', ...options })
  await work(sql).finally(() => sql.end({ timeout: 0 }))
}

const at = (port: number, host = '127.0.0.1') => {
  const url = new URL(database.url)
  url.hostname = host
  url.port = String(port)
  return url.href
}

const atHosts = (...hosts: readonly string[]) => database.url.replace(/@[^/]+/, `@${hosts.join(',')}`)

const server = () => new URL(database.url)

const codeOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => 'answered',
    (error: { code?: string }) => error.code,
  )

describe('a commit', () => {
  test('that is answered ROLLBACK is an error', async () => {
    await database.sql`truncate note`
    const work = database.sql.begin(async (tx) => {
      await tx`insert into note values (1)`
      // Not awaited: it fails while COMMIT is on its way.
      tx`select 1 / 0`.catch(() => {})
    })
    expect(await codeOf(work)).toBe('40000')
    expect([...(await database.sql`select * from note`)]).toEqual([])
  })

  test('that is acknowledged is stored, though a transaction pooler has no prepared statement', async () => {
    await database.sql`truncate note`
    const pooler = await startPgBouncer({
      mode: 'transaction',
      port: Number(server().port),
      users: ['postgres'],
      poolSize: 4,
    })
    // Prepared statements, against the advice: one that is missing must fail its transaction, and not lose it.
    const sql = postgres(at(pooler.port), { max: 12, prepare: true, onnotice: () => {} })
    const acknowledged: number[] = []
    await Promise.all(
      Array.from({ length: 12 }, async (_, client) => {
        for (let round = 0; round < rounds(40, 400); round++) {
          const number = client * 1_000 + round
          const work = sql.begin((tx) => tx.unsafe(`insert into note values (${number})`))
          if ((await codeOf(work)) === 'answered') acknowledged.push(number)
        }
      }),
    )
    await sql.end({ timeout: 1 })
    const rows = await database.sql<{ number: number }[]>`select number from note`
    const stored = new Set(rows.map(({ number }) => number))
    expect(acknowledged.length).toBeGreaterThan(0)
    expect(acknowledged.filter((number) => !stored.has(number))).toEqual([])
    await pooler.stop()
  })
})

describe('while the server is away', () => {
  test('behind a proxy that accepts connections and closes them, each query fails soon', async () => {
    const proxy = await startTcpProxy(Number(server().port))
    await using(at(proxy.port), async (sql) => {
      await sql`select 1`
      proxy.setRefusing('closing')
      const startedAt = performance.now()
      const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(sql`select 1`)))
      expect(codes).not.toContain('answered')
      expect(performance.now() - startedAt).toBeLessThan(OPENING_MS)
      proxy.setRefusing(false)
      expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    })
    await proxy.stop()
  })

  test('and nothing answers, queries that wait for a connection fail after the time of one attempt', async () => {
    const proxy = await startTcpProxy(Number(server().port))
    await using(at(proxy.port), async (sql) => {
      proxy.setLine('silent')
      const startedAt = performance.now()
      const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(sql`select 1`)))
      expect(new Set(codes)).toEqual(new Set(['CONNECT_TIMEOUT']))
      expect(performance.now() - startedAt).toBeLessThan(2 * OPENING_MS)
      proxy.setLine('good')
      expect([...(await sql`select 1 as one`)]).toEqual([{ one: 1 }])
    })
    await proxy.stop()
  })
})

describe('several hosts', () => {
  test('each have a port of their own, and one that refuses is skipped', async () => {
    const closed = await startTcpProxy(1)
    await closed.stop()
    const { port } = server()
    await using(atHosts(`127.0.0.1:${closed.port}`, `localhost:${port}`), async (sql) => {
      expect([...(await sql`select inet_server_port() as port`)]).toEqual([{ port: Number(port) }])
    })
  })

  test('one that closes connections or does not answer is skipped, and not asked again first', async () => {
    const { port } = server()
    const proxy = await startTcpProxy(Number(port))
    const hosts = atHosts(`127.0.0.1:${proxy.port}`, `127.0.0.1:${port}`)
    proxy.setRefusing('closing')
    await using(hosts, async (sql) => void (await sql`select 1`))
    proxy.setRefusing(false)
    proxy.setLine('silent')
    await using(hosts, async (sql) => {
      const startedAt = performance.now()
      await sql`select 1`
      expect(performance.now() - startedAt).toBeLessThan(OPENING_MS)
      const before = proxy.connections
      await Promise.all(Array.from({ length: 4 }, () => sql`select pg_sleep(0.1)`))
      expect(proxy.connections).toBe(before)
    })
    await proxy.stop()
  })

  test('if all refuse, queries fail at once', async () => {
    const closed = await startTcpProxy(1)
    await closed.stop()
    await using(atHosts(`127.0.0.1:${closed.port}`, `localhost:${closed.port}`), async (sql) => {
      const startedAt = performance.now()
      const codes = await Promise.all(Array.from({ length: 50 }, () => codeOf(sql`select 1`)))
      expect(codes).not.toContain('answered')
      expect(performance.now() - startedAt).toBeLessThan(OPENING_MS)
    })
  })

  test('a refused user is refused by the first host that answers', async () => {
    const { port } = server()
    const url = atHosts(`127.0.0.1:${port}`, '127.0.0.1:1').replace('postgres@', 'nobody_of_this_name@')
    await using(url, async (sql) => expect(await codeOf(sql`select 1`)).toBe('28000'))
  })
})

test('a connection to a read-only server goes when a statement fails by that', async () => {
  await using(
    database.url,
    async (sql) => {
      const backend = async () => (await sql<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid
      const writable = await backend()
      await sql`set default_transaction_read_only = on`
      expect(await codeOf(sql`insert into note values (1)`)).toBe('25006')
      await eventually(async () => (await backend()) !== writable)
      await sql`set default_transaction_read_only = on`
      expect(await codeOf(transaction(sql, (tx) => tx`insert into note values (1)`))).toBe('25006')
      await transaction(sql, (tx) => tx`insert into note values (1)`)
    },
    { max: 1 },
  )
})
