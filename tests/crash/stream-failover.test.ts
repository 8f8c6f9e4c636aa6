/** A failover that loses commits: the stream gives their numbers again, so its clients get `reset` and then every later event. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource } from '../support/feedback.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from './support/private-postgres.ts'

let postgres: PrivatePostgres
let server: TestServer
beforeAll(async () => {
  postgres = await startPrivatePostgres(freePort())
  server = await startTestServer({ databaseServer: postgres.url })
}, 300_000)
afterAll(async () => {
  await server?.stop()
  await postgres?.stop()
})

test('clients get reset after a failover that loses events', async () => {
  const { apiKey, organizationId } = await server.createTenant()
  const key = server.as({ apiKey })
  const source = await createSource(key)
  const client = await openStream(server.baseUrl, { apiKey })
  await eventually(() => client.all[0]?.event === 'ready')
  const hears = (id: number) => client.events.some(({ data }) => data.feedbackRecordId === id)
  const create = () => eventually(() => createRecord(key, source) as Promise<{ id: number }>)
  const kept = await create()
  await eventually(() => hears(kept.id))
  await postgres.fallBehind()
  for (const lost of [await create(), await create(), await create()]) await eventually(() => hears(lost.id))
  const lastEventId = client.lastEventId()
  await postgres.failOver()
  for (let n = 0; n < 5; n++) await create()
  await eventually(() => client.all.some(({ event }) => event === 'reset'))
  const after = await create()
  await eventually(() => hears(after.id))
  // The number that the client saw last belongs to another event now.
  const [stream] = await server.database.sql<{ lastSeq: number }[]>`
    select last_seq as "lastSeq" from event_stream where organization_id = ${organizationId}`
  expect(Number.parseInt(lastEventId, 10)).toBeLessThan(stream?.lastSeq ?? 0)
  const again = await openStream(server.baseUrl, { apiKey }, { lastEventId })
  await eventually(() => again.all[0]?.event === 'reset')
  expect(client.all.filter(({ event }) => event === 'reset')).toHaveLength(1)
  // A restart alone changes nothing.
  const seen = client.lastEventId()
  await postgres.restart('fast')
  const next = await create()
  await eventually(() => hears(next.id))
  const resumed = await openStream(server.baseUrl, { apiKey }, { lastEventId: seen })
  await eventually(() => resumed.all[0]?.data.feedbackRecordId === next.id)
  await Promise.all([client, again, resumed].map((one) => one.close()))
}, 120_000)
