/**
 * A primary PostgreSQL server and its standby. The primary crashes and the standby takes over, under load. No service is restarted,
 * each request is answered, and nothing that was accepted is lost.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { connect } from '../../src/platform/db/pool.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from '../crash/support/private-postgres.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { rounds } from '../support/rounds.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { type Account, openAccount, PATIENCE_MS, startConversations } from './support/conversations.ts'

setDefaultTimeout(300_000)

const ROUNDS = rounds(1, 8)

let primary: PrivatePostgres
let standby: PrivatePostgres
let line: TcpProxy
let account: Account
beforeAll(async () => {
  primary = await startPrivatePostgres(freePort())
  account = await openAccount(environment(primary.url))
  standby = await primary.startStandby(freePort())
  line = await startTcpProxy(primary.port)
})
afterAll(async () => {
  await line.stop()
  for (const server of new Set([primary, standby])) await server.stop()
})
// Last, because it fails where a service still runs, and the servers end before.
const services = useServices()

const environment = (url: string) => ({
  DATABASE_URL: url,
  DATA_DIR: services.folder,
  LOG_LEVEL: 'warn',
})

const addressOf = (service: Service) => /Address +(\S+)/.exec(service.output())?.[1] ?? ''

/** @returns the status of `/ready` */
async function ready(baseUrl: string): Promise<number> {
  const response = await fetch(`${baseUrl}/ready`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  await response.arrayBuffer()
  return response.status
}

async function verify(...conversations: readonly ReturnType<typeof startConversations>[]): Promise<void> {
  const sql = connect({ url: primary.url }, { max: 1, applicationName: 'test' })
  try {
    for (const one of conversations) await one.verify(sql)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

const unexpected = (answers: ReadonlyMap<number, number>) =>
  [...answers.keys()].filter((status) => status !== 200 && status !== 503)

test('services that name both hosts, or a TCP proxy, go on after the failover; one of the standby begins then', async () => {
  const hosts = `postgres://postgres@127.0.0.1:${primary.port},localhost:${standby.port}/postgres`
  const [named, behind, reader] = await Promise.all([
    services.start({ env: environment(hosts) }),
    services.start({ env: environment(`postgres://postgres@127.0.0.1:${line.port}/postgres`) }),
    services.start({
      env: environment(`${standby.url}?target_session_attrs=any`),
      ready: /Address/,
    }),
  ])
  expect(await ready(addressOf(reader))).toBe(503)
  const onStandby = startConversations(addressOf(reader), account, 1)
  await eventually(() => (onStandby.answers.get(503) ?? 0) > 2)
  const all = [named, behind].map(({ baseUrl }) => startConversations(baseUrl, account))
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(all.map((conversations) => conversations.accept(20)))
    await primary.crash()
    const refusals = () => all.map(({ answers }) => answers.get(503) ?? 0)
    const before = refusals()
    await eventually(() => refusals().every((count, index) => count > (before[index] ?? 0) + 5), {
      deadlineMs: 30_000,
    })
    expect(await Promise.all([named, behind].map(({ baseUrl }) => ready(baseUrl)))).toEqual([503, 503])
    await standby.promote()
    line.setTarget(standby.port)
    await Promise.all(all.map((conversations) => conversations.accept(20)))
    if (round === 0) await onStandby.accept(5)
    // The crashed server comes back as the standby of the other.
    const crashed = primary
    primary = standby
    await crashed.stop()
    if (round + 1 < ROUNDS) standby = await primary.startStandby(crashed.port)
  }
  for (const { baseUrl } of [named, behind]) await eventually(async () => (await ready(baseUrl)) === 200)
  await Promise.all([...all, onStandby].map((conversations) => conversations.stop()))
  await verify(...all, onStandby)
  for (const { answers } of [...all, onStandby]) expect(unexpected(answers)).toEqual([])
  expect(await Promise.all([named, behind, reader].map((service) => service.kill()))).toEqual([0, 0, 0])
})

test('while the server is read-only, writes are 503, reads go on, and /ready is 503', async () => {
  const service = await services.start({ env: environment(primary.url) })
  const admin = connect({ url: primary.url }, { max: 1, applicationName: 'test' })
  const set = async (value: 'on' | 'off') => {
    await admin`set default_transaction_read_only = off`
    await admin.unsafe(`alter system set default_transaction_read_only = ${value}`)
    await admin`select pg_reload_conf()`
  }
  const conversations = startConversations(service.baseUrl, account)
  for (let round = 0; round < ROUNDS; round++) {
    await conversations.accept(30)
    await set('on')
    const refused = conversations.answers.get(503) ?? 0
    await eventually(() => (conversations.answers.get(503) ?? 0) > refused + 10)
    expect(await ready(service.baseUrl)).toBe(503)
    const list = await fetch(`${service.baseUrl}/v3/rest/folders`, {
      headers: { 'x-service-api-key': account.apiKey },
    })
    expect(list.status).toBe(200)
    await set('off')
    await conversations.accept(30)
    expect(await ready(service.baseUrl)).toBe(200)
  }
  await conversations.stop()
  await verify(conversations)
  expect(unexpected(conversations.answers)).toEqual([])
  expect(await service.kill()).toBe(0)
  await admin.end({ timeout: 1 })
})
