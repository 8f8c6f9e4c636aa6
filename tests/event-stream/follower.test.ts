/** A process follows the log of an organization once for all of its clients, and a client joins without a lock. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Query } from '../../src/platform/db/pool.ts'
import { createEventStream } from '../../src/tell/event-stream/service.ts'
import { openStream, type StreamClient } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const CLIENTS = 50

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
}, 300_000)
afterAll(() => server?.stop())

/** The real streams of one organization, with a counter of their statements. */
async function startStreams() {
  const tenant = await server.createTenant()
  const { organizationId } = tenant
  let statements = 0
  const counted = <S extends Query>(sql: S): S =>
    new Proxy(sql, {
      apply(target, self, args: unknown[]) {
        const made: unknown = Reflect.apply(target, self, args)
        // A fragment of a statement is not sent.
        if (Array.isArray(args[0]) && /^\s*(select|insert|update)\s/.test(String(args[0]))) statements++
        return made
      },
    })
  const { folders } = server.features
  const { sql, reads } = server.deps
  const conversations = { readableApplications: () => reads`select null::uuid` }
  const deps = { ...server.deps, sql: counted(sql), reads: counted(reads), folders, conversations }
  const streams = createEventStream(deps as never)
  const viewer = { kind: 'organization', organizationId } as const
  const http = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) =>
      new Response(
        streams.open({ viewer, isAdmitted: async () => true }, request.headers.get('last-event-id')),
      ),
  })
  const baseUrl = `http://127.0.0.1:${http.port}`
  const opened: StreamClient[] = []
  return {
    ...tenant,
    sent: () => statements,
    async open(lastEventId?: string): Promise<StreamClient> {
      const client = await openStream(baseUrl, 'nobody', lastEventId === undefined ? {} : { lastEventId })
      opened.push(client)
      return client
    },
    async stop() {
      await Promise.all(opened.map((client) => client.close()))
      await streams.stop()
      await http.stop(true)
    },
  }
}

const isReady = ({ all }: StreamClient) => all[0]?.event === 'ready'

test('clients that arrive together, resume or read cost the statements of one', async () => {
  const streams = await startStreams()
  const key = server.as({ apiKey: streams.apiKey })
  const source = await createSource(key)
  const first = await streams.open()
  await eventually(() => isReady(first))
  const begun = performance.now()
  const before = streams.sent()
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => streams.open()))
  await eventually(() => clients.every(isReady))
  const { id } = await createRecord(key, source)
  await eventually(() => clients.every(({ events }) => events[0]?.data.feedbackRecordId === id))
  await Promise.all(clients.map((client) => client.close()))
  const resumed = await Promise.all(clients.map((client) => streams.open(client.lastEventId())))
  const next = await createRecord(key, source)
  await eventually(() => resumed.every(({ events }) => events[0]?.data.feedbackRecordId === next.id))
  // A look for those that arrive, the round of an entry with its page, and a poll each second.
  const polls = (performance.now() - begun) / 1_000
  expect(streams.sent() - before).toBeLessThan(20 + 3 * polls)
  for (const { text } of [...clients, ...resumed]) expect(text()).toStartWith(': earshot\nretry: ')
  // After a crash they come back at different times, also those that have resumed before.
  for (const group of [clients, resumed]) {
    const pauses = group.map((client) => client.retryMs() ?? 0)
    for (const ms of pauses) expect(ms).toBeWithin(500, 5_001)
    expect(new Set(pauses).size).toBeGreaterThan(CLIENTS / 2)
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(2_000)
  }
  await streams.stop()
})

test('a client joins while another transaction holds the counter, and hears what is numbered afterwards', async () => {
  const streams = await startStreams()
  const key = server.as({ apiKey: streams.apiKey })
  const source = await createSource(key)
  const first = await streams.open()
  await eventually(() => isReady(first))
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holding = server.database.sql.begin(async (tx) => {
    await tx`select from event_stream where organization_id = ${streams.organizationId} for update`
    held.resolve()
    await release.promise
  })
  await held.promise
  const { id } = await createRecord(key, source)
  const [second, third] = [await streams.open(), await streams.open(first.lastEventId())]
  await eventually(() => isReady(second))
  expect(third.all).toEqual([])
  const { sql } = server.database
  expect(
    await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  ).toHaveLength(0)
  release.resolve()
  await holding
  for (const client of [first, second, third])
    await eventually(() => client.events.some(({ data }) => data.feedbackRecordId === id))
  await streams.stop()
})
