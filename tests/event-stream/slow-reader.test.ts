/** A client that does not read is disconnected. Until then at most one page waits for it in the process, and others are not held up. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { createEventStream } from '../../src/tell/event-stream/service.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const HEARTBEAT_MS = 100
let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
}, 300_000)
afterAll(() => server?.stop())

/** The real streams with short times, and every caller admitted. */
async function shortTimes(organizationId: string, timeoutMs: number) {
  const { folders } = server.features
  const conversations = { readableApplications: () => server.deps.reads`select null::uuid` }
  const stream = createEventStream(
    { ...server.deps, folders, conversations: conversations as never },
    { heartbeatMs: HEARTBEAT_MS, timeoutMs },
  )
  const caller = { viewer: { kind: 'organization', organizationId } as const, isAdmitted: async () => true }
  const http = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request) => new Response(stream.open(caller, request.headers.get('last-event-id'))),
  })
  return {
    baseUrl: `http://127.0.0.1:${http.port}`,
    port: http.port ?? 0,
    async stop() {
      await stream.stop()
      await http.stop(true)
    },
  }
}

const ended = async () => {
  const values = (
    await server.deps.metrics.registry.getSingleMetric('earshot_event_stream_ends_total')?.get()
  )?.values
  return values?.find(({ labels }) => labels.reason === 'slow')?.value ?? 0
}

test('a client that does not read is disconnected, and others get every event', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const source = await server.as({ apiKey }).post('/v3/rest/feedback-sources', { name: 'desk' })
  const streams = await shortTimes(organizationId, 500)
  const good = await openStream(streams.baseUrl, { apiKey })
  await eventually(() => good.all[0]?.event === 'ready')
  const slow = connect(streams.port, '127.0.0.1')
  slow.on('error', () => {})
  slow.pause()
  slow.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [batches, size] = [12, 5_000]
  const total = batches * size
  await eventually(async () => {
    const open = await server.deps.metrics.registry.getSingleMetric('earshot_event_stream_open')?.get()
    return open?.values[0]?.value === 2
  })
  for (let batch = 0; batch < batches; batch++)
    await server.database.sql`
      insert into feedback_record (organization_id, feedback_source_id, fields, display_ts)
      select ${organizationId}, ${source.body.id}, '[]', now() from generate_series(1, ${size}::int)`
  await eventually(async () => (await ended()) === 1)
  await eventually(() => good.events.length === total)
  expect(new Set(good.events.map(({ id }) => id)).size).toBe(total)
  slow.destroy()
  await good.close()
  await streams.stop()
}, 300_000)

test('a quiet stream has comments, whose ids let a client resume behind what it may not see', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const streams = await shortTimes(organizationId, 5_000)
  const client = await openStream(streams.baseUrl, { apiKey })
  await eventually(() => client.all[0]?.event === 'ready')
  const first = client.lastEventId()
  // Seen by nobody: its recording does not exist.
  await server.database.sql`
    insert into event_stream_entry (organization_id, type, recording_id)
    values (${organizationId}, 'recording.created', ${Bun.randomUUIDv7()})`
  await eventually(() => client.lastEventId() !== first)
  expect(client.events).toEqual([])
  expect(client.text().match(/: still here/g)?.length).toBeGreaterThan(0)
  await client.close()
  await streams.stop()
})
