/**
 * PostgreSQL crashes when a receiver gets an event of a worker's turn. Workers commit without waiting for the disk, so the turn may be
 * undone and run again. What was sent is never undone: every `webhook-id` that arrived belongs to an event that is still there.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import {
  createWebhook,
  LOCAL,
  type SendingServer,
  startReceiver,
  startSendingServer,
  type TestReceiver,
} from '../support/webhooks.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from './support/private-postgres.ts'

/** The worker opens the secrets of webhooks. */
const KEYS = { ...LOCAL, SECRET_KEY: 'x'.repeat(43) }
const ROUNDS = rounds(2, 10)

let postgres: PrivatePostgres
let server: TestServer
let worker: SendingServer
let receiver: TestReceiver
beforeAll(async () => {
  postgres = await startPrivatePostgres(freePort())
  server = await startTestServer({ databaseServer: postgres.url, env: KEYS })
  worker = await startSendingServer({ beside: server, env: KEYS, redoable: true })
  receiver = startReceiver()
}, 300_000)
afterAll(async () => {
  await worker?.stop()
  await server?.stop()
  await receiver?.stop()
  await postgres?.stop()
})

test('an event keeps its webhook-id through a crash of PostgreSQL', async () => {
  const tenant = await server.createTenant()
  const client = server.as({ apiKey: tenant.apiKey })
  await createWebhook(client, { url: receiver.url, types: ['agent_session.processed'] })
  const agent = await openAgent(server, { tenant })
  const { sql } = server.database
  for (let round = 0; round < ROUNDS; round++) {
    const arrived = Promise.withResolvers<void>()
    receiver.answer = () => {
      arrived.resolve()
      return new Response()
    }
    const { sessionId } = await agent.accept([userMessage(1), assistantMessage(2)], {
      externalSessionId: `session ${round}`,
    })
    await arrived.promise
    await postgres.restart('immediate')
    const ofSession = () => receiver.received.filter(({ event }) => event.data.id === sessionId)
    await eventually(async () => {
      const rows = await sql`
        select 1 from agent_session s
        where s.id = ${sessionId} and s.processing_status = 'completed'
          and not exists (select from actor_message m where m.key = ${`session:${sessionId}`})`
      return rows.length > 0
    })
    await eventually(async () => {
      const known = await sql<{ id: string }[]>`
        select e.id from webhook_event e
        join webhook_delivery d on d.event_id = e.id
        where e.data ->> 'id' = ${sessionId} and d.status = 'delivered'`
      return known.length > 0
    })
    const events = await sql<
      { id: string }[]
    >`select id from webhook_event where data ->> 'id' = ${sessionId}`
    expect([...new Set(ofSession().map(({ id }) => id))].toSorted()).toEqual(
      events.map(({ id }) => id).toSorted(),
    )
  }
}, 200_000)
