/** A listening connection does not notice a silently broken network, so it must probe. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import { type Listener, listen } from '../../src/platform/db/listener.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

setDefaultTimeout(300_000)

const APPLICATION = 'test listener'

let database: TestDatabase
let proxy: TcpProxy
let listener: Listener
let heard: string[]
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterAll(() => database.drop())
beforeEach(async () => {
  const url = new URL(database.url)
  proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  heard = []
  listener = await listen(
    { url: url.href },
    {
      channels: ['first', 'second'],
      applicationName: APPLICATION,
      log: createLog('silent', 'test'),
      onNotification: (channel, payload) => heard.push(`${channel} ${payload}`),
    },
  )
})
afterEach(async () => {
  await listener.close()
  await proxy.stop()
})

const notify = (channel: string, payload: string) => database.sql`select pg_notify(${channel}, ${payload})`

async function connections() {
  return [
    ...(await database.sql<{ pid: number; asked: Date }[]>`
      select pid, query_start as asked from pg_stat_activity
      where application_name = ${APPLICATION} and datname = current_database()`),
  ]
}

/** Notifies until received: notifications before the reconnect are lost. */
async function isHeardAgain(): Promise<void> {
  const before = heard.length
  await eventually(async () => {
    await notify('second', 'again')
    return heard.length > before
  })
}

test('every channel is received', async () => {
  await notify('first', 'one')
  await notify('second', 'two')
  await eventually(() => heard.length === 2)
  expect(heard).toEqual(['first one', 'second two'])
})

test('a silent connection is replaced', async () => {
  proxy.setLine('silent')
  proxy.setLine('good')
  await isHeardAgain()
})

test('a closed connection is reopened', async () => {
  proxy.cut()
  await isHeardAgain()
})

test('listening resumes after an outage of the server', async () => {
  proxy.setRefusing(true)
  await eventually(() => proxy.refused >= 3)
  proxy.setRefusing(false)
  await isHeardAgain()
})

test('a live connection is probed regularly and kept', async () => {
  const [before] = await connections()
  await eventually(async () => (await connections()).some(({ asked }) => asked > before!.asked))
  expect((await connections()).map(({ pid }) => pid)).toEqual([before!.pid])
  await notify('first', 'still here')
  await eventually(() => heard.length === 1)
})

test('closing leaves nothing behind, even if the server does not respond', async () => {
  proxy.setLine('silent')
  await listener.close()
  await eventually(() => proxy.connections === 0)
})
