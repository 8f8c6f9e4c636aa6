/** A listening connection does not notice a silently broken network, so it must probe. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type Listener, listen } from '../../src/platform/db/listener.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

setDefaultTimeout(300_000)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ migrated: false })
})
afterAll(() => database.drop())

interface Subject extends AsyncDisposable {
  readonly proxy: TcpProxy
  readonly listener: Listener
  readonly heard: readonly string[]
  connections(): Promise<readonly { readonly pid: number; readonly asked: Date }[]>
}

async function open(): Promise<Subject> {
  const url = new URL(database.url)
  const proxy = await startTcpProxy(Number(url.port))
  url.port = String(proxy.port)
  const heard: string[] = []
  const applicationName = `test listener ${proxy.port}`
  const listener = await listen(
    { url: url.href },
    {
      channels: ['first', 'second'],
      applicationName,
      log: createLog('silent', 'test'),
      onNotification: (channel, payload) => heard.push(`${channel} ${payload}`),
    },
  )
  return {
    proxy,
    listener,
    heard,
    connections: () => database.sql<{ pid: number; asked: Date }[]>`
      select pid, query_start as asked from pg_stat_activity
      where application_name = ${applicationName} and datname = current_database()`,
    async [Symbol.asyncDispose]() {
      await listener.close()
      await proxy.stop()
    },
  }
}

const notify = (channel: string, payload: string) => database.sql`select pg_notify(${channel}, ${payload})`

/** Notifies until received: notifications before the reconnect are lost. */
async function isHeardAgain({ heard }: Subject): Promise<void> {
  const before = heard.length
  await eventually(async () => {
    await notify('second', 'again')
    return heard.length > before
  })
}

// Each waits for probes, and none for another. All hear what any of them says.
test.concurrent('every channel is received', async () => {
  await using subject = await open()
  const { heard } = subject
  await notify('first', 'one')
  await notify('second', 'two')
  await eventually(() => heard.includes('second two'))
  expect(heard.filter((text) => / (?:one|two)$/.test(text))).toEqual(['first one', 'second two'])
})

test.concurrent('a silent connection is replaced', async () => {
  await using subject = await open()
  subject.proxy.setLine('silent')
  subject.proxy.setLine('good')
  await isHeardAgain(subject)
})

test.concurrent('a closed connection is reopened', async () => {
  await using subject = await open()
  subject.proxy.cut()
  await isHeardAgain(subject)
})

test.concurrent('listening resumes after an outage of the server', async () => {
  await using subject = await open()
  const { proxy } = subject
  proxy.setRefusing(true)
  await eventually(() => proxy.refused >= 3)
  proxy.setRefusing(false)
  await isHeardAgain(subject)
})

test.concurrent('a live connection is probed regularly and kept', async () => {
  await using subject = await open()
  const { connections, heard } = subject
  const [before] = await connections()
  await eventually(async () => (await connections()).some(({ asked }) => asked > before!.asked))
  expect((await connections()).map(({ pid }) => pid)).toEqual([before!.pid])
  await notify('first', 'still here')
  await eventually(() => heard.includes('first still here'))
})

test.concurrent('closing leaves nothing behind, even if the server does not respond', async () => {
  await using subject = await open()
  subject.proxy.setLine('silent')
  await subject.listener.close()
  await eventually(() => subject.proxy.connections === 0)
})
