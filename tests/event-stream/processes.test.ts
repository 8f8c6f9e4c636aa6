/**
 * Two real processes on one database. Clients follow one process and then the other while rows are committed out of order, one process is
 * killed and another one is stopped. No event is lost or doubled.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { TestDatabase } from '../support/database.ts'
import { openStream, type StreamClient } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const services = useServices()
let server: TestServer
let database: TestDatabase
let tenant: TestTenant
let sourceId: number

beforeAll(async () => {
  // Creates the organization. It has no part in the streams.
  server = await startTestServer()
  database = server.database
  tenant = await server.createTenant()
  const source = await server
    .as({ apiKey: tenant.apiKey })
    .post('/v3/rest/feedback-sources', { name: 'desk' })
  sourceId = source.body.id
}, 300_000)
afterAll(() => server?.stop())

const start = (name: string): Promise<Service> =>
  services.start({
    env: {
      DATABASE_URL: database.url,
      DATA_DIR: `${services.folder}/${name}`,
      ROLE: 'api',
      RATE_LIMIT_READS: '0',
    },
  })

/** A client that connects again, to the next process, as a browser does. */
function persistent(processes: readonly (() => Service)[]) {
  const sessions: StreamClient[] = []
  let isOver = false
  const received = () => sessions.flatMap(({ all }) => all)
  const running = (async () => {
    for (let attempt = 0; !isOver; attempt++) {
      const process = processes[attempt % processes.length]?.()
      const last = sessions.at(-1)?.lastEventId()
      const session = await openStream(
        process?.baseUrl ?? '',
        { apiKey: tenant.apiKey },
        last === undefined || last === '' ? {} : { lastEventId: last },
      ).catch(() => null)
      if (session === null || session.status !== 200) continue
      sessions.push(session)
      await session.ended
    }
  })()
  return {
    sessions,
    received,
    records: () => received().flatMap(({ data }) => data.feedbackRecordId ?? []) as number[],
    async close() {
      isOver = true
      await Promise.all(sessions.map((one) => one.close()))
      await running
    },
  }
}

test('every event arrives once at every client, through a crash and a shutdown', async () => {
  let [first, second] = await Promise.all([start('first'), start('second')])
  const clients = [
    persistent([() => first, () => second]),
    persistent([() => second, () => first]),
    persistent([() => second, () => first]),
  ]
  for (const { received } of clients) await eventually(() => received()[0]?.event === 'ready')

  const written: number[] = []
  let isWriting = true
  /** Commits out of the order in which the rows are written. */
  const writer = async (pauseMs: number) => {
    while (isWriting) {
      const ids = await database.sql.begin(async (tx) => {
        const rows = await tx<{ id: number }[]>`
          insert into feedback_record (organization_id, feedback_source_id, fields, display_ts)
          select ${tenant.organizationId}, ${sourceId}, '[]', now() from generate_series(1, 3)
          returning id`
        await tx`select pg_sleep(${pauseMs / 1_000})`
        return rows.map(({ id }) => id)
      })
      written.push(...ids)
    }
  }
  const writers = [5, 20, 90].map(writer)
  const everyClientHas = (count: number) =>
    eventually(() => clients.every((one) => one.records().length >= count))
  await everyClientHas(30)
  await first.kill('SIGKILL')
  await everyClientHas(written.length)
  first = await start('first again')
  await second.kill('SIGTERM')
  await everyClientHas(written.length)
  second = await start('second again')
  await everyClientHas(written.length + 30)
  isWriting = false
  await Promise.all(writers)
  await everyClientHas(written.length)
  const expected = written.toSorted((a, b) => a - b)
  for (const { records, received } of clients) {
    expect(records().toSorted((a, b) => a - b)).toEqual(expected)
    expect(received().filter(({ event }) => event === 'reset' || event === 'ready').length).toBe(1)
  }
  // Every client has them in the same order.
  for (const client of clients) expect(client.records()).toEqual(clients[0]?.records() ?? [])
  // Processes tell their clients when to come back, each at another time, whether they stop or are killed.
  const before = clients.flatMap(({ sessions }) => sessions)
  await Promise.all(
    [first.kill(), second.kill()].map((stopped) => stopped.then((code) => expect(code).toBe(0))),
  )
  await Promise.all(before.map(({ ended }) => ended))
  const hints = before.map((one) => one.retryMs() ?? 0)
  for (const ms of hints) expect(ms).toBeWithin(500, 5_001)
  expect(new Set(hints).size).toBeGreaterThan(1)
  await Promise.all(clients.map((one) => one.close()))
}, 300_000)
