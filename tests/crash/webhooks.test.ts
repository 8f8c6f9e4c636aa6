/**
 * Webhooks through `kill -9` of everything: the processes that cause and send events, Redis, and PostgreSQL. Hundreds of events go to a
 * receiver that is slow, one that flaps, and one that never answers.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { createSource } from '../support/feedback.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { createWebhook, LOCAL, startReceiver, type TestReceiver, verify } from '../support/webhooks.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from './support/private-postgres.ts'

const PROCESSES = 2
/** Each kill happens when another equal part of the events has arrived. One of two kills ends both processes. */
const [EVENTS, KILLS] = rounds([600, 2], [3_000, 4])
/** Every so many kills Redis is restarted, too. */
const RESTART_EVERY = 2
/** Every so many kills PostgreSQL crashes, too. It may lose the last two seconds of deliveries, which are then sent again. */
const CRASH_EVERY = rounds(2, 3)
const MAX_LOST_BY_CRASH = 1_000

let redis: PrivateRedis
let postgres: PrivatePostgres
let server: TestServer
const folder = mkdtempSync(join(tmpdir(), 'earshot-webhooks-'))
const children = new Set<Bun.Subprocess>()
const receivers: TestReceiver[] = []
beforeAll(async () => {
  redis = await startPrivateRedis()
  postgres = await startPrivatePostgres(freePort())
  // The same keys as the senders, so that they open the secrets.
  server = await startTestServer({ env: { ...LOCAL, SECRET_KEY }, databaseServer: postgres.url })
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const receiver of receivers) await receiver.stop()
  await server.stop()
  await redis.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

const SECRET_KEY = 'x'.repeat(43)

function receiving(answer: TestReceiver['answer']): TestReceiver {
  const receiver = startReceiver(answer)
  receivers.push(receiver)
  return receiver
}

/** The numbers of the events in the order of their first arrival. */
const arrivals = ({ received }: TestReceiver) => [
  ...new Set(received.map(({ event }) => Number(event.data.externalId))),
]

test('nothing is lost, the order holds, and the dead receiver costs the others nothing', async () => {
  const { apiKey, organizationId } = await server.createTenant()
  const client = server.as({ apiKey })
  const sourceId = await createSource(client)
  const slow = receiving(async () => {
    await Bun.sleep(2)
    return new Response()
  })
  // Every other half second it refuses everything.
  const flapping = receiving(
    () => new Response(null, { status: performance.now() % 1_000 < 500 ? 200 : 503 }),
  )
  const dead = receiving(() => new Promise<Response>(() => {}))
  const [first, strict] = [
    await createWebhook(client, { url: slow.url }),
    await createWebhook(client, { url: flapping.url, ordering: 'strict' }),
    await createWebhook(client, { url: dead.url }),
  ]

  const script = new URL('../webhooks/support/sender.ts', import.meta.url).pathname
  const start = () => {
    const args = [server.database.url, redis.url, folder, organizationId, String(sourceId), String(EVENTS)]
    const child = Bun.spawn([process.execPath, script, ...args], {
      env: { ...process.env, SECRET_KEY, NODE_ENV: 'test' },
      stdout: 'inherit',
      stderr: 'inherit',
    })
    children.add(child)
    return child
  }
  let running = Array.from({ length: PROCESSES }, start)
  let mostRepeated = KILLS * PROCESSES * 60
  for (let kill = 1; kill <= KILLS; kill++) {
    await eventually(() => arrivals(slow).length >= (EVENTS * kill) / (KILLS + 1), { deadlineMs: 120_000 })
    if (kill % RESTART_EVERY === 0) await redis.restart()
    if (kill % CRASH_EVERY === 0) {
      await postgres.restart('immediate')
      mostRepeated += Math.min(MAX_LOST_BY_CRASH, slow.received.length)
    }
    const victims = kill % 2 === 0 ? running : running.slice(0, 1)
    for (const child of victims) {
      child.kill('SIGKILL')
      await child.exited
      children.delete(child)
    }
    running = [...running.filter((child) => !victims.includes(child)), ...victims.map(start)]
  }
  const { sql } = server.database
  await eventually(
    async () => {
      const [row] = await sql<{ events: number }[]>`
        select count(*)::int as events from webhook_event where organization_id = ${organizationId}`
      return (
        row?.events === EVENTS && arrivals(slow).length === EVENTS && arrivals(flapping).length === EVENTS
      )
    },
    { deadlineMs: 240_000, everyMs: 250 },
  )
  const committed = await sql<{ number: number }[]>`
    select (data ->> 'externalId')::int as number from webhook_event
    where organization_id = ${organizationId} order by seq`
  const order = committed.map(({ number }) => number)
  expect(arrivals(slow)).toEqual(order)
  expect(arrivals(flapping)).toEqual(order)
  for (const [receiver, webhook] of [
    [slow, first],
    [flapping, strict],
  ] as const)
    for (const one of receiver.received.filter((_, index) => index % 100 === 0)) verify(webhook.secret, one)
  // Repetitions come from kills and crashes only. A kill repeats a page at most.
  const repeated = slow.received.length - EVENTS
  expect(repeated).toBeLessThan(mostRepeated)
  // It waits for its own time-outs, and nothing of it is lost either.
  expect(arrivals(dead).length).toBeLessThan(EVENTS)
  expect(arrivals(dead)).toEqual(order.slice(0, arrivals(dead).length))
  console.log({ slow: slow.received.length, flapping: flapping.received.length, dead: dead.received.length })
}, 300_000)
