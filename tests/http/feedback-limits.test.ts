/** An organization may send 100 requests a minute to the three operations that receive feedback, counted together. */
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { createApp } from '../../src/app/app.ts'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createSource, field, PEOPLE, recordsOf, SOURCES } from '../support/feedback.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Client, clientOf, startTestServer, type TestServer } from '../support/server.ts'

let redis: PrivateRedis
let server: TestServer
/** The other API process on the same database and Redis, but for being in this one. */
let secondUrl: string
const cleanups: (() => unknown)[] = []

beforeAll(async () => {
  redis = await startPrivateRedis()
  const env = { RATE_LIMIT_FEEDBACK: '100' }
  server = await startTestServer({ env, redis: redis.url })
  const config = loadConfig({
    LOG_LEVEL: 'silent',
    DATA_DIR: server.deps.config.dataDir,
    RATE_LIMIT_READS: '0',
    RATE_LIMIT_WRITES: '0',
    ...env,
  })
  const deps = createContainer(config, server.deps.servers, 'test-second')
  const app = createApp(deps).listen({ hostname: '127.0.0.1', port: 0 })
  secondUrl = `http://127.0.0.1:${app.server?.port}`
  cleanups.push(
    () => app.stop(true),
    () => deps.close(),
  )
})
afterAll(async () => {
  for (const cleanup of cleanups) await cleanup()
  await server?.stop()
  await redis?.stop()
})
afterEach(() => redis.command('FLUSHALL'))

/** One request each of the three operations, and what is counted otherwise. */
const CALLS: readonly ((client: Client, sourceId: number) => ReturnType<Client['get']>)[] = [
  (client) => client.post(SOURCES, { name: crypto.randomUUID() }),
  (client) => client.put(PEOPLE, { email: 'a@example.com' }),
  (client, sourceId) => client.post(recordsOf(sourceId), { fields: [field()] }),
]

test('admits exactly 100 of 300 requests over 64 connections and two processes; the rest get 429', async () => {
  const { apiKey } = await server.createTenant()
  const clients = [server.baseUrl, secondUrl].map((url) => clientOf(url, { apiKey }))
  const sourceId = await createSource(clients[0] as Client)
  await redis.command('FLUSHALL')
  const statuses: number[] = []
  const waits: number[] = []
  let next = 0
  const connection = async () => {
    while (next < 300) {
      const turn = next++
      const call = CALLS[turn % 3] as (typeof CALLS)[number]
      const { status, headers } = await call(clients[turn % 2] as Client, sourceId)
      statuses.push(status)
      expect(headers.get('ratelimit-policy')).toBe('"feedback";q=100;w=60')
      if (status === 429) waits.push(Number(headers.get('retry-after')))
    }
  }
  await Promise.all(Array.from({ length: 64 }, connection))
  expect(statuses.filter((status) => status === 200 || status === 201)).toHaveLength(100)
  expect(statuses.filter((status) => status === 429)).toHaveLength(200)
  for (const wait of waits) expect(wait).toBeWithin(1, 61)
})

test('requests are counted per organization, across all its keys', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const second = await server.features.identity.createApiKey(organizationId, 'second')
  const [one, two] = [server.as({ apiKey }), server.as(second)]
  const remaining = async (client: Client) =>
    (await client.put(PEOPLE, { email: 'a@example.com' })).headers.get('x-ratelimit-remaining')
  expect([await remaining(one), await remaining(two), await remaining(one)]).toEqual(['99', '98', '97'])
  expect(await remaining(server.as(await server.createTenant()))).toBe('99')
})

test('a refused request counts and has the limit headers; a 401 does not count', async () => {
  const { apiKey } = await server.createTenant()
  const key = server.as({ apiKey })
  await server.as('nobody').post(SOURCES, {})
  const bad = await key.post(SOURCES, {})
  expect([bad.status, bad.headers.get('x-ratelimit-remaining')]).toEqual([400, '99'])
  const missing = await key.post(recordsOf(0), {})
  expect([missing.status, missing.headers.get('ratelimit')]).toEqual([
    404,
    expect.stringMatching(/^"feedback";r=98;t=\d+$/),
  ])
})

test('reads, deletion and erasure do not count', async () => {
  const key = server.as(await server.createTenant())
  const sourceId = await createSource(key)
  for (const answer of [
    await key.get(SOURCES),
    await key.get(PEOPLE),
    await key.get(recordsOf(sourceId)),
    await key.delete(`${recordsOf(sourceId)}/1`),
    await key.delete(`${PEOPLE}/9007199254740991`),
  ])
    expect(answer.headers.get('ratelimit-policy')).toBeNull()
})

test('the limit defaults to 100; RATE_LIMIT_FEEDBACK changes it, and 0 switches it off', () => {
  const limit = (env: Record<string, string>) => loadConfig(env).rateLimits.feedback
  expect([limit({}), limit({ RATE_LIMIT_FEEDBACK: '7' }), limit({ RATE_LIMIT_FEEDBACK: '0' })]).toEqual([
    100, 7, 0,
  ])
})
