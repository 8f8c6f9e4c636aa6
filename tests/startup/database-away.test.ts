/**
 * Processes that start before their database, such as containers after a power-on. They wait, log what they wait for, and
 * migrate once it is available. A permanent error ends the start at once.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, type ServiceOptions, useServices } from '../support/process.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

setDefaultTimeout(300_000)

const services = useServices()
let database: TestDatabase
let proxy: TcpProxy
let url: string
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
  const direct = new URL(database.url)
  proxy = await startTcpProxy(Number(direct.port))
  direct.port = String(proxy.port)
  url = direct.href
})
afterAll(async () => {
  await proxy.stop()
  await database.drop()
})

const start = (env: Readonly<Record<string, string>>, ready: ServiceOptions['ready'] = 'none') =>
  services.start({ ready, env: { DATABASE_URL: url, ...env } })

function linesOf(service: Service): readonly Record<string, unknown>[] {
  const lines = service.output().split('\n')
  return lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
}

const says = (service: Service, message: string) =>
  eventually(() => linesOf(service).some(({ msg }) => msg === message))

test('processes wait for the database and migrate it once, however often the connection breaks', async () => {
  proxy.setRefusing(true)
  const waiting = await Promise.all(['api', 'worker', 'api'].map((ROLE) => start({ ROLE })))
  await Promise.all(waiting.map((service) => says(service, 'waiting for the database')))
  expect(linesOf(waiting[0]!)[0]).toMatchObject({
    database: `PostgreSQL at 127.0.0.1:${proxy.port}${new URL(url).pathname}`,
    err: expect.any(String),
  })
  // A migrating process holds this lock. All of them get this far and are disconnected.
  await database.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${0x65_61_72_73})`
    proxy.setRefusing(false)
    await eventually(async () => {
      const held = await tx`
        select 1 from pg_locks
        where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`
      return held.length === waiting.length
    })
    proxy.cut()
  })
  await Promise.all(waiting.map((service) => says(service, 'the database is available')))
  await eventually(() => waiting.every((service) => /Address/.test(service.output())))
  const rows = await database.sql`select number from schema_migration order by number`
  expect(rows.map(({ number }) => number)).toEqual(MIGRATIONS.map(({ number }) => number))
  // An index is built outside of a transaction, so two processes may each apply some of the migrations; none is applied twice. A process
  // whose connection breaks in between begins anew, and does not log what it had applied before.
  const logged = waiting.flatMap(linesOf).filter(({ msg }) => msg === 'database migrated')
  const applied = logged.flatMap((line) => line.applied as number[])
  expect(applied.length).toBeGreaterThan(0)
  expect(new Set(applied).size).toBe(applied.length)
  expect(await Promise.all(waiting.map((service) => service.kill()))).toEqual([0, 0, 0])
})

test('the wait ends after the configured time with exit code 1 and a final line', async () => {
  proxy.setRefusing(true)
  const service = await start({ DATABASE_WAIT: '1' })
  expect(await service.exited).toBe(1)
  expect(service.output().trimEnd().split('\n').at(-1)).toMatch(
    /^PostgreSQL at 127\.0\.0\.1:\d+\/test_\w+ cannot be used: .+ \(waited for 1 s: DATABASE_WAIT\)$/,
  )
})

test('a signal ends a waiting process properly and without an error', async () => {
  proxy.setRefusing(true)
  const service = await start({})
  await says(service, 'waiting for the database')
  expect(await service.kill()).toBe(0)
  expect(linesOf(service).map(({ msg }) => msg)).toEqual(['waiting for the database', 'stopping'])
})

test('an unknown database role ends the start at once', async () => {
  const other = new URL(database.url)
  other.username = 'nobody_of_this_name'
  const service = await start({ DATABASE_URL: other.href })
  expect(await service.exited).toBe(1)
  expect(service.output()).toBe(
    `PostgreSQL at ${other.host}${other.pathname} cannot be used: role "nobody_of_this_name" does not exist\n`,
  )
})
