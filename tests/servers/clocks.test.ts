/** The service on machines whose clock is wrong, or is set while it runs. Its database has the right time. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createFakeClock, FAKETIME } from '../support/faketime.ts'
import { type IdentityProcess, openIdentity } from '../support/identity.ts'
import { joinMeeting } from '../support/meetings.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { useServices } from '../support/process.ts'
import { startVexa } from '../support/recorders/vexa.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { rounds } from '../support/rounds.ts'
import { clientOf } from '../support/server.ts'

setDefaultTimeout(300_000)

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const SECRET_KEY = 'clocks'.repeat(8)

const services = useServices()
let database: TestDatabase
let redis: PrivateRedis
let identity: IdentityProcess
let organizationId: string
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), startPrivateRedis()])
  identity = openIdentity({ databaseUrl: database.url, env: { SECRET_KEY } })
  organizationId = (await identity.identity.createOrganization('Acme')).id
})
afterAll(async () => {
  await identity?.close()
  await Promise.all([database?.drop(), redis?.stop()])
})

/** A service with a clock of its own. */
async function start(name: string, hours: number, env: Readonly<Record<string, string>>) {
  const clock = createFakeClock(join(services.folder, name), hours)
  const service = await services.start({
    env: { DATABASE_URL: database.url, SECRET_KEY, ...clock.env, ...env },
  })
  /** How far the clock of the process is ahead of this one. */
  const aheadMs = async () => {
    const { headers } = await fetch(`${service.baseUrl}/health`)
    return new Date(headers.get('date') ?? '').getTime() - Date.now()
  }
  return { service, clock, aheadMs }
}

describe.skipIf(FAKETIME === null)('a service whose machine', () => {
  test('is two hours ahead joins a meeting in 40 minutes then, and stores the time of the database', async () => {
    const recorder = startVexa()
    const names = () => recorder.botIds().map((bot) => recorder.nameOf(bot))
    const { url, apiKey } = recorder.settings
    const { service, aheadMs } = await start('ahead', 2, {
      RECORDER: 'vexa',
      RECORDER_URL: url,
      RECORDER_API_KEY: apiKey,
      RECORDER_POLL: '1',
      OUTBOUND_ALLOW: '127.0.0.1/32',
    })
    try {
      expect(await aheadMs()).toBeGreaterThan(HOUR_MS)
      const user = { email: 'ada@example.com', name: 'Ada', role: 'administrator' } as const
      const { id } = await identity.identity.createUser(organizationId, user)
      const client = clientOf(service.baseUrl, {
        userToken: await identity.identity.createUserToken(id, 600),
      })
      const joinAt = new Date(Date.now() + 40 * MINUTE_MS).toISOString()
      const later = await joinMeeting(client, { joinAt, botName: 'later' })
      await joinMeeting(client, { botName: 'now' })
      await eventually(() => names().includes('now'))
      const { body } = await client.get(`${RECORDINGS}/${later.recordingId}`)
      expect(body.meeting).toMatchObject({ status: 'scheduled' })
      expect(names()).toEqual(['now'])
      expect(Math.abs(new Date(body.createdAt).getTime() - Date.now())).toBeLessThan(10 * MINUTE_MS)
      expect(service.output()).toContain('the clock of this machine differs from that of the database')
      expect(await service.kill()).toBe(0)
    } finally {
      recorder[Symbol.dispose]()
    }
  })

  test.each([
    ['without Redis', () => ({})],
    ['with Redis', () => ({ REDIS_URL: redis.url })],
  ] as const)('is set back an hour refuses a caller for a minute at most, %s', async (name, env) => {
    const { service, clock, aheadMs } = await start(name, 0, { RATE_LIMIT_READS: '2', ROLE: 'api', ...env() })
    const { apiKey } = await identity.identity.createApiKey(organizationId, name)
    const client = clientOf(service.baseUrl, { apiKey })
    const ask = () => client.get(RECORDINGS)
    expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
    const blockedAt = performance.now()
    clock.set(-1)
    await eventually(async () => (await aheadMs()) < -HOUR_MS / 2)
    const { status, headers } = await ask()
    expect([status, Number(headers.get('retry-after')) <= 60]).toEqual([429, true])
    // The window is a minute, which only a thorough check has.
    if (rounds(false, true)) {
      await eventually(async () => (await ask()).status === 200, { deadlineMs: 2 * MINUTE_MS })
      expect(performance.now() - blockedAt).toBeLessThan(1.5 * MINUTE_MS)
    }
    expect(await service.kill()).toBe(0)
  })
})
