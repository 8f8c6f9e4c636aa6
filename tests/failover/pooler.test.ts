/** The service behind PgBouncer, which may end, and whose connections to the server may end. Nothing that was accepted is lost. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from '../crash/support/private-postgres.ts'
import { runCommand } from '../support/command-line.ts'
import { eventually } from '../support/eventually.ts'
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { type Account, openAccount, startConversations } from './support/conversations.ts'

setDefaultTimeout(300_000)

const USERS = ['earshot_requests', 'earshot_workers', 'earshot_reads']
let postgres: PrivatePostgres
let admin: Sql
let poolers: Readonly<Record<'transaction' | 'session', PgBouncer>>
let account: Account
beforeAll(async () => {
  postgres = await startPrivatePostgres(freePort())
  admin = connect({ url: postgres.url }, { max: 2, applicationName: 'test' })
  await admin.unsafe('create role earshot login')
  await admin.unsafe('create database earshot owner earshot')
  const [transaction, session] = await Promise.all(
    (['transaction', 'session'] as const).map((mode) =>
      // A session keeps its connection, so it needs as many as all pools of the service together.
      startPgBouncer({ mode, port: postgres.port, users: USERS, poolSize: mode === 'session' ? 40 : 6 }),
    ),
  )
  poolers = { transaction: transaction!, session: session! }
})
afterAll(async () => {
  await admin.end({ timeout: 1 })
  await Promise.all([poolers.transaction.stop(), poolers.session.stop()])
  await postgres.stop()
})
// Last, because it fails where a service still runs, and the servers end before.
const services = useServices()

const urlOf = (port: number) => `postgres://earshot@127.0.0.1:${port}/earshot`
const settings = (mode: 'transaction' | 'session') => ({
  DATABASE_URL: urlOf(poolers[mode].port),
  DATABASE_DIRECT_URL: urlOf(postgres.port),
  DATABASE_PREPARE: String(mode === 'session'),
  DATA_DIR: services.folder,
  LOG_LEVEL: 'warn',
})

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

async function checkOfPooler(): Promise<Check | undefined> {
  const { out } = await runCommand(['doctor', '--json'], settings('transaction'))
  return (JSON.parse(out) as { checks: Check[] }).checks.find(({ name }) => name === 'pooler')
}

test('the service does not start without the roles; doctor prints the statements that make them', async () => {
  const refused = await services.start({ env: settings('transaction'), ready: 'none' })
  expect(await refused.exited).toBe(1)
  expect(refused.output()).toBe(
    'DATABASE_URL is a pooler, but the role earshot_requests does not exist: run "earshot doctor", which prints what it needs\n',
  )
  const missing = await checkOfPooler()
  expect(missing?.ok).toBe(false)
  const statements = (missing?.detail ?? '')
    .split('\n')
    .filter((line) => /^(create|alter) role .*;$/.test(line))
  const creations = statements.filter((line) => line.startsWith('create'))
  expect(creations).toEqual(
    USERS.map(
      (user) => `create role "${user}" login password '(the password of earshot)' in role "earshot";`,
    ),
  )
  for (const statement of statements) await admin.unsafe(statement)
  expect(await checkOfPooler()).toEqual({
    name: 'pooler',
    ok: true,
    detail: 'a role with its settings for each pool',
  })
  account = await openAccount(settings('transaction'))
})

test('a role that lacks a setting is named', async () => {
  await admin.unsafe('alter role earshot_reads reset default_transaction_read_only')
  // PgBouncer keeps connections that have the earlier setting.
  await poolers.transaction.kill()
  await poolers.transaction.start()
  expect(await checkOfPooler()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(
      /^earshot_reads lacks default_transaction_read_only\n.*\nalter role "earshot_reads" set default_transaction_read_only = 'on';$/,
    ),
  })
  await admin.unsafe(`alter role earshot_reads set default_transaction_read_only = 'on'`)
  await poolers.transaction.kill()
  await poolers.transaction.start()
})

/** Ends every connection of PgBouncer to the server, in the middle of transactions, too. */
const endConnections = () =>
  admin`
    select pg_terminate_backend(pid) from pg_stat_activity
    where usename = any(${USERS}) and state <> 'idle'`

describe.each(['transaction', 'session'] as const)('in the mode that pools each %s', (mode) => {
  test('what was accepted is stored once, also when PgBouncer or its connections end', async () => {
    const service = await services.start({ env: settings(mode) })
    const conversations = startConversations(service.baseUrl, account)
    await conversations.accept(20)
    for (let round = 0; round < rounds(1, 10); round++) {
      for (let kills = 0; kills < 5; kills++) {
        await eventually(async () => (await endConnections()).length > 0, { everyMs: 20 })
        await conversations.accept(2)
      }
      await poolers[mode].kill()
      await eventually(async () => (await fetch(`${service.baseUrl}/ready`)).status === 503)
      await poolers[mode].start()
      await conversations.accept(10)
    }
    const wakeUps = await admin`
      select from pg_stat_activity where query like 'listen %' and datname = 'earshot' and usename = 'earshot'`
    expect(wakeUps.length).toBeGreaterThan(0)
    await conversations.stop()
    const sql = connect(
      { url: postgres.url.replace(/postgres$/, 'earshot') },
      { max: 1, applicationName: 'test' },
    )
    await conversations.verify(sql).finally(() => sql.end({ timeout: 1 }))
    expect([...conversations.answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(service.output()).not.toMatch(/prepared statement|unsupported startup parameter/)
    expect(await service.kill()).toBe(0)
  })
})
