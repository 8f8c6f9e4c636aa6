/** Meeting joins in real processes: many requests at once, and kill -9 of everything at any moment. One meeting has one bot. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { eventually } from '../support/eventually.ts'
import { endLeases } from '../support/mailboxes.ts'
import { JOINS, joinMeeting, newMeeting, RECORDER_ENV } from '../support/meetings.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { type FakeAttendee, startAttendee } from '../support/recorders/attendee.ts'
import type { Stage } from '../support/recorders/fake.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { rounds } from '../support/rounds.ts'
import { clientOf, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

setDefaultTimeout(300_000)

const services = useServices()
let server: TestServer
let tenant: TestTenant
let redis: PrivateRedis
let fake: FakeAttendee

beforeAll(async () => {
  fake = startAttendee()
  redis = await startPrivateRedis()
  // A database and a tenant; it runs no worker.
  const env = { DATA_DIR: join(services.folder, 'data'), SECRET_KEY: RECORDER_ENV.SECRET_KEY }
  server = await startTestServer({ env })
  tenant = await server.createTenant()
})
afterAll(async () => {
  await server?.stop()
  await redis?.stop()
  fake?.[Symbol.dispose]()
})

function start(): Promise<Service> {
  const { url, apiKey, webhookSecret } = fake.settings
  return services.start({
    env: {
      ...RECORDER_ENV,
      RECORDER_URL: url,
      RECORDER_API_KEY: apiKey,
      RECORDER_WEBHOOK_SECRET: webhookSecret ?? '',
      OUTBOUND_ALLOW: '127.0.0.0/8',
      DATABASE_URL: server.database.url,
      REDIS_URL: redis.url,
      RATE_LIMIT_MEETING_JOINS: '0',
      WORKER_THREADS: '1',
      LOG_LEVEL: 'silent',
    },
  })
}

const clientFor = ({ baseUrl }: Service) => clientOf(baseUrl, { userToken: tenant.userToken })

test('100 requests for one meeting to two processes make one recording and one bot', async () => {
  const processes = await Promise.all([start(), start()])
  const before = fake.botIds().length
  const joinUrl = newMeeting()
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      clientFor(processes[index % 2] as Service).post(JOINS, { type: 'meetingUrl', joinUrl }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201))
  expect(new Set(answers.map(({ body }) => body.recordingId)).size).toBe(1)
  expect(answers.filter(({ body }) => body.created)).toHaveLength(1)
  const client = clientFor(processes[0])
  await eventually(() => fake.botIds().length === before + 1)
  fake.move(fake.botIds()[before] as string, 'ended')
  await eventually(
    async () => {
      const { body } = await client.get(`${RECORDINGS}/${answers[0]?.body.recordingId}`)
      return body.asset.status === 'completed'
    },
    { deadlineMs: 60_000 },
  )
  expect(fake.botIds()).toHaveLength(before + 1)
  await Promise.all(processes.map((one) => one.kill()))
})

/** Moments of a meeting at which everything is killed, each in the middle of a request to the recorder. */
const MOMENTS: readonly RegExp[] = [
  /^POST \/api\/v1\/bots$/,
  /^GET \/api\/v1\/bots\/[^/]+$/,
  /^GET \/api\/v1\/bots\/[^/]+\/transcript$/,
  /^GET \/api\/v1\/bots\/[^/]+\/recording$/,
  /^POST \/api\/v1\/bots\/[^/]+\/delete_data$/,
]
const WAY: readonly Stage[] = ['waiting_room', 'recording', 'ended']
const COUNT = rounds(3, 6)

test('kill -9 in the middle of each request to the recorder: one bot for each meeting, and the right end', async () => {
  let running = await start()
  const client = () => clientFor(running)
  const before = new Set(fake.botIds())
  const kills: string[] = []
  let restarted: Promise<void> = Promise.resolve()
  const restart = (pattern: RegExp) => {
    restarted = restarted.then(async () => {
      kills.push(String(pattern))
      await running.kill('SIGKILL')
      await endLeases(server.database.sql)
      running = await start()
    })
  }
  // The recorder has done its work, and its answer finds nobody.
  const killAt = (pattern: RegExp) =>
    fake.server.disturb(pattern, async (work) => {
      const answer = await work()
      restart(pattern)
      return answer
    })
  killAt(MOMENTS[0] as RegExp)
  const joins = await Promise.all(
    Array.from({ length: COUNT }, () => {
      // A request whose answer is lost is sent again.
      const joinUrl = newMeeting()
      return eventually(() => joinMeeting(client(), { joinUrl }), { deadlineMs: 60_000, everyMs: 200 })
    }),
  )
  for (const pattern of MOMENTS.slice(1)) killAt(pattern)

  const bots = () => fake.botIds().filter((id) => !before.has(id))
  await eventually(() => bots().length === COUNT, { deadlineMs: 90_000 })
  for (const stage of WAY) {
    const known = fake.server.exchanges.length
    for (const id of bots()) fake.move(id, stage)
    const isAsked = (id: string) =>
      fake.server.exchanges.slice(known).some(({ path }) => path === `/api/v1/bots/${id}`)
    await eventually(() => bots().every(isAsked))
  }
  const found = await eventually(
    async () => {
      const all = await Promise.all(
        joins.map(async ({ recordingId }) => (await client().get(`${RECORDINGS}/${recordingId}`)).body),
      )
      return all.every(({ asset }) => asset.status === 'completed') && all
    },
    { deadlineMs: 150_000, everyMs: 200 },
  )
  expect(found.map(({ meeting }) => meeting.status)).toEqual(Array(COUNT).fill('ended'))
  await eventually(() => bots().every((id) => fake.isDeleted(id)), { deadlineMs: 90_000, everyMs: 200 })
  expect(bots()).toHaveLength(COUNT)
  expect(kills.toSorted()).toEqual(MOMENTS.map(String).toSorted())
  const letters = await server.database.sql`select 1 from actor_dead_letter`
  expect(letters.count).toBe(0)
  await restarted
  await running.kill()
})
