/**
 * Requests per minute and client address: exact, shared between processes, separate for each address, reset at the
 * stated time.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { type Service, useServices } from '../support/process.ts'
import { type Answer, clientOf, startTestServer, type TestServer } from '../support/server.ts'
import { BEHIND_PROXY, newClient, standingOf, submission } from '../support/website.ts'

const LIMIT = 20
const CONNECTIONS = 64

let redis: PrivateRedis
beforeAll(async () => {
  redis = await startPrivateRedis()
})
afterAll(() => redis.stop())

const submit = (baseUrl: string, headers: Record<string, string> = {}) =>
  clientOf(baseUrl, 'nobody').post('/api/csdemo', submission(['email']), headers)

const accepted = (answers: readonly Answer[]) => {
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 429)).toEqual([])
  return answers.filter(({ status }) => status === 200).length
}

describe('two API processes on one Redis', () => {
  let database: TestDatabase
  let running: readonly Service[]
  let urls: readonly string[]

  // Registered before those of `useServices`, which look for what was left running.
  afterAll(async () => {
    await Promise.all(running.map((service) => service.kill()))
    await database.drop()
  })
  const services = useServices()

  beforeAll(async () => {
    database = await createTestDatabase()
    const env = {
      ROLE: 'api',
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      LOG_LEVEL: 'warn',
      ...BEHIND_PROXY,
    }
    running = await Promise.all([services.start({ env }), services.start({ env })])
    urls = running.map(({ baseUrl }) => baseUrl)
  }, 300_000)

  test('accept 20 of 64 parallel connections to each, and every answer is 200 or 429', async () => {
    const client = newClient()
    const answers = await Promise.all(
      Array.from({ length: 2 * CONNECTIONS }, (_, index) => submit(urls[index % 2]!, client)),
    )
    expect(accepted(answers)).toBe(LIMIT)
    const left = answers
      .filter(({ status }) => status === 200)
      .map(({ headers }) => standingOf(headers).remaining)
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, index) => index))
    const [row] = await database.sql<{ count: number }[]>`select count(*) from form_submission`
    expect(row?.count).toBe(LIMIT)
  })

  test('count the forms together and reads separately', async () => {
    const client = newClient()
    for (const url of urls) await submit(url, client)
    const paths = ['/api/contact', '/api/mobile-reminder']
    const remaining: number[] = []
    for (const path of paths)
      remaining.push(
        standingOf((await clientOf(urls[0]!, 'nobody').post(path, '{', client)).headers).remaining,
      )
    expect(remaining).toEqual([17, 16])
    const { headers } = await clientOf(urls[1]!, 'nobody').get('/api/nothing', client)
    expect(standingOf(headers)).toMatchObject({ policy: 'reads', limit: 300, remaining: 299 })
  })
})

describe('a window', () => {
  test.concurrent.each(['without Redis', 'with Redis'])(
    'ends when announced: a client that waits for Retry-After succeeds, %s',
    async (how) => {
      const server = await startTestServer({
        env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: '2' },
        website: { windowSeconds: 1 },
        ...(how === 'with Redis' ? { redis: redis.url } : {}),
      })
      try {
        const client = newClient()
        for (let round = 0; round < 3; round++) {
          let answer = await submit(server.baseUrl, client)
          while (answer.status !== 429) answer = await submit(server.baseUrl, client)
          expect(standingOf(answer.headers)).toMatchObject({ limit: 2, windowSeconds: 1, remaining: 0 })
          await Bun.sleep(Number(answer.headers.get('retry-after')) * 1000)
          expect((await submit(server.baseUrl, client)).status).toBe(200)
        }
      } finally {
        await server.stop()
      }
    },
  )
})

describe('Redis', () => {
  test('that is down: the process counts locally and rejoins the others once it is back', async () => {
    const own = await startPrivateRedis()
    let server: TestServer | null = null
    try {
      server = await startTestServer({ env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: '20' }, redis: own.url })
      const { baseUrl, deps } = server
      await eventually(() => deps.redis?.status === 'ready')
      await own.kill()
      const client = newClient()
      const answers = await Promise.all(Array.from({ length: CONNECTIONS }, () => submit(baseUrl, client)))
      expect(accepted(answers)).toBe(LIMIT)
      for (const { headers } of answers) expect(standingOf(headers).policy).toBe('forms')
      await own.restart()
      const later = newClient()
      const key = `earshot:limit:forms:ip:${later['x-forwarded-for']}`
      await eventually(async () => {
        await submit(baseUrl, later)
        return (await own.command('GET', key)) !== null
      })
    } finally {
      await server?.stop()
      await own.stop()
    }
  })
})

describe('clients', () => {
  const remaining = async (baseUrl: string, headers: Record<string, string>) =>
    standingOf((await submit(baseUrl, headers)).headers).remaining

  test('behind a trusted proxy are distinguished by the forwarded address', async () => {
    const server = await startTestServer({ env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: '20' } })
    const from = (address: string) => remaining(server.baseUrl, { 'x-forwarded-for': address })
    try {
      expect([await from('192.0.2.1'), await from('192.0.2.1'), await from('192.0.2.2')]).toEqual([
        19, 18, 19,
      ])
      // What stands before the client's own address is its invention.
      expect(await from('198.51.100.7, 192.0.2.1')).toBe(17)
      expect(await remaining(server.baseUrl, { forwarded: 'for=192.0.2.1;proto=https' })).toBe(16)
    } finally {
      await server.stop()
    }
  })

  test('of one IPv6 /64 count as one client', async () => {
    const server = await startTestServer({ env: { ...BEHIND_PROXY, RATE_LIMIT_FORMS: '20' } })
    const from = (address: string) => remaining(server.baseUrl, { 'x-forwarded-for': address })
    try {
      const same = [await from('2001:db8:1:2::1'), await from('2001:db8:1:2:ffff::9')]
      expect([...same, await from('2001:db8:1:3::1')]).toEqual([19, 18, 19])
    } finally {
      await server.stop()
    }
  })

  test('cannot choose their address without a trusted proxy', async () => {
    const server = await startTestServer({ env: { RATE_LIMIT_FORMS: '20' } })
    try {
      const seen: number[] = []
      for (let count = 0; count < 3; count++) seen.push(await remaining(server.baseUrl, newClient()))
      expect(seen).toEqual([19, 18, 17])
    } finally {
      await server.stop()
    }
  })
})
