/**
 * Every pair of operations that touch the same kind of object is sent at once, to two processes with workers on one database (in a check, one
 * of them has workers), with random offsets. No answer is 500, PostgreSQL finds no deadlock, and afterwards every rule between rows holds, and every sum is that of its rows.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { NO_ORGANIZATION } from '../../src/actors/types.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { inForeground } from '../crash/support/lag.ts'
import { freePort } from '../crash/support/private-postgres.ts'
import { type Change, changesOf, Objects, type Outside, pairsOf, sendChange } from '../support/at-once.ts'
import { deadlocks } from '../support/deadlocks.ts'
import { eventually } from '../support/eventually.ts'
import { type FakeZendesk, startFakeZendesk } from '../support/fake-zendesk.ts'
import { brokenRules } from '../support/invariants.ts'
import { RECORDER_ENV } from '../support/meetings.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { type FakeAttendee, startAttendee } from '../support/recorders/attendee.ts'
import { rounds } from '../support/rounds.ts'
import { clientOf, LIMITS_OFF, startTestServer, type TestServer } from '../support/server.ts'
import { wrongSums } from '../support/sums.ts'
import { startReceiver, type TestReceiver } from '../support/webhooks.ts'

const ROUNDS = rounds(1, 60)
setDefaultTimeout(rounds(300_000, 3_600_000))
/** Pairs under way at a time. Each has an organization of its own. */
const AT_ONCE = 6
const LONGEST_OFFSET_MS = 8
const QUIET_DEADLINE_MS = 1_800_000

/** Makes the objects. It has no part in the pairs. */
let server: TestServer
let first: Service
let second: Service
let redis: PrivateRedis
let recorder: FakeAttendee
let receiver: TestReceiver
let zendesk: FakeZendesk
let outside: Outside
let pairs: readonly (readonly [Change, Change])[]
afterAll(async () => {
  await Promise.all([first?.kill(), second?.kill()])
  await server?.stop()
  await Promise.all([redis?.stop(), receiver?.stop(), zendesk?.stop()])
  recorder?.[Symbol.dispose]()
})
// After that, so that it finds the services ended.
const services = useServices()
beforeAll(async () => {
  recorder = startAttendee()
  receiver = startReceiver()
  zendesk = startFakeZendesk()
  outside = { webhook: receiver.url, zendesk: zendesk.url }
  redis = await startPrivateRedis()
  const env = {
    ...RECORDER_ENV,
    RECORDER_URL: recorder.settings.url,
    RECORDER_API_KEY: recorder.settings.apiKey,
    RECORDER_WEBHOOK_SECRET: recorder.settings.webhookSecret ?? '',
    OUTBOUND_ALLOW: '127.0.0.0/8',
    DATABASE_POOL_SIZE: '10',
    PUBLIC_BASE_URL: 'https://earshot.example',
    DATA_DIR: join(services.folder, 'data'),
  }
  server = await startTestServer({ env, redis: redis.url })
  const start = (role: 'all' | 'api') =>
    services.start({
      env: {
        ...LIMITS_OFF,
        ...env,
        ROLE: role,
        // The printed address is that of `PUBLIC_BASE_URL`.
        PORT: String(freePort()),
        DATABASE_URL: server.database.url,
        REDIS_URL: redis.url,
        LOG_LEVEL: 'error',
      },
    })
  ;[first, second] = await Promise.all([start('all'), start(rounds('api', 'all'))])
  pairs = pairsOf(changesOf((await server.as('nobody').get('/openapi.json')).body))
})
const newObjects = async () => new Objects(server, await server.createTenant(), outside)

/** Waits until the workers have nothing to do now. What failed and is tried again later does not count. */
async function quiet(): Promise<void> {
  const { sql } = server.database
  await eventually(
    async () => {
      const rows = await sql`
        select key, type, attempts, last_error
        from actor_message
        where available_at <= now() and ${inForeground(sql)}
        limit 5`
      if (rows.length > 0) throw new Error(`messages wait: ${JSON.stringify(rows)}`)
    },
    { deadlineMs: QUIET_DEADLINE_MS },
  )
}

/** @returns what both answered, unless it is in order */
async function meet(pair: readonly [Change, Change], round: number): Promise<string | null> {
  const objects = await newObjects()
  const order = round % 2 === 0 ? [first, second] : [second, first]
  const sends = await Promise.all(pair.map((change, n) => sendChange(order[n]!.baseUrl, objects, change)))
  const offset = (Math.random() * 2 - 1) * LONGEST_OFFSET_MS
  const delays = [Math.max(0, offset), Math.max(0, -offset)]
  const answers = await Promise.all(
    sends.map(async (send, n) => {
      if (delays[n]! > 0) await Bun.sleep(delays[n]!)
      return send()
    }),
  )
  const names = pair.map(({ id }, n) => `${id} ${answers[n]}`)
  return answers.some((answer) => answer.startsWith('5')) ? names.join(' beside ') : null
}

test('covers every operation that changes an object', async () => {
  expect(pairs.length).toBeGreaterThan(300)
  const objects = await newObjects()
  for (const change of new Set(pairs.flat())) await sendChange(first.baseUrl, objects, change)
})

test('no pair is answered with 500, ends in a deadlock or breaks a rule', async () => {
  const { sql } = server.database
  const before = await deadlocks(sql)
  const wrong = new Map<string, number>()
  const left = Array.from({ length: ROUNDS }, (_, round) => pairs.map((pair) => ({ pair, round }))).flat()
  const lane = async () => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const found = await meet(next.pair, next.round)
      if (found !== null) wrong.set(found, (wrong.get(found) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  expect(Object.fromEntries(wrong)).toEqual({})
  // Rules and sums hold at any time. A check does not wait for the analysis of every text.
  if (rounds(false, true)) await quiet()
  expect((await deadlocks(sql)) - before).toBe(0)
  expect(await brokenRules(sql)).toEqual([])
})

test('a sum that differs from its rows is found', async () => {
  const drifts: readonly ((tx: Tx) => Promise<unknown>)[] = [
    (tx) => tx`
      insert into usage_change (organization_id, metric, application_id, hour, change)
      select id, 'events', ${NO_ORGANIZATION}, '-infinity', 1 from organization limit 1`,
    (tx) => tx`
      insert into insight_count_change (organization_id, metric, day, channel, change)
      select id, 'signals', now(), 'feedback', 1 from organization limit 1`,
    (tx) => tx`update theme set count = count + 1`,
    (tx) => tx`update theme_day set negative = negative + 1`,
    (tx) => tx`update theme_progress set items = items + 1`,
    (tx) => tx`update theme_term set count = count + 1`,
    (tx) => tx`update coding_session set event_count = event_count + 1`,
  ]
  const undo = new Error('undone')
  for (const drift of drifts)
    await transaction(server.database.sql, async (tx) => {
      await drift(tx)
      expect(await wrongSums(tx)).toHaveLength(1)
      throw undo
    }).catch((error) => expect(error).toBe(undo))
})

test('of two administrators who are removed or demoted at once, one stays', async () => {
  const { sql } = server.database
  const demote = (id: string) => ['PATCH', `/v3/rest/members/${id}`, { role: 'viewer' }] as const
  const remove = (id: string) => ['DELETE', `/v3/rest/members/${id}`, undefined] as const
  for (let round = 0; round < rounds(4, 60); round++) {
    const tenant = await server.createTenant()
    const other = await server.createUser(tenant.organizationId)
    const changes = [round % 2 === 0 ? demote : remove, round % 4 < 2 ? demote : remove]
    const statuses = await Promise.all(
      [tenant.userId, other.userId].map(async (id, n) => {
        const [method, path, body] = changes[n]!(id)
        const client = clientOf([first, second][n]!.baseUrl, { apiKey: tenant.apiKey })
        const init = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
        return (await client.send(method, path, init)).status
      }),
    )
    expect(statuses.filter((status) => status === 409).length).toBe(1)
  }
  expect(await brokenRules(sql)).toEqual([])
})
