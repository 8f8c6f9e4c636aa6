/** Requests per minute: exact counts, shared through Redis, and the headers of responses. */
import { afterAll, afterEach, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import { Elysia } from 'elysia'
import { loadConfig } from '../../src/app/config.ts'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { createAuthenticate } from '../../src/http/auth.ts'
import { createBodyBudget } from '../../src/http/body-budget.ts'
import { renderError, toAppError } from '../../src/http/error-handler.ts'
import { mount } from '../../src/http/mount.ts'
import { created, noContent, type Operation, ok, operation } from '../../src/http/operation.ts'
import { createCounter, createFailureLimit, createLimit } from '../../src/http/rate-limit.ts'
import { createWindow } from '../../src/http/rate-window.ts'
import type { Config } from '../../src/kernel/config.ts'
import type { Authentication } from '../../src/kernel/principal.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import { AppError } from '../../src/platform/errors.ts'
import { newId } from '../../src/platform/ids.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { openRedis, type Redis } from '../../src/platform/redis.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'

const log = createLog('silent', 'test')
let server: PrivateRedis
const cleanups: (() => unknown)[] = []

beforeAll(async () => {
  server = await startPrivateRedis()
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})
afterAll(() => server.stop())

/** What one process of the service counts with. */
function counterDeps(redis: Redis | null, env: Record<string, string> = {}) {
  return { config: loadConfig(env), redis, clock: systemClock, log }
}

async function connected(): Promise<Redis> {
  const redis = openRedis(server.url, log)
  cleanups.push(() => redis.disconnect())
  await eventually(() => redis.status === 'ready')
  return redis
}

/** Calls `count` for one key `times` times at once: how many were let through. */
async function allowed(
  count: (key: string) => Promise<unknown>,
  key: string,
  times: number,
): Promise<number> {
  const outcomes = await Promise.allSettled(Array.from({ length: times }, () => count(key)))
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'rate_limited' })
  return outcomes.filter((outcome) => outcome.status === 'fulfilled').length
}

describe('a limit', () => {
  test('is exact under parallel requests in one process', async () => {
    const count = createCounter(counterDeps(null), 'writes', 50)
    expect(await allowed(count, 'a', 200)).toBe(50)
    expect(await allowed(count, 'b', 10)).toBe(10)
  })

  test('is exact under parallel requests of two processes on one Redis', async () => {
    const [one, two] = [await connected(), await connected()]
    const counts = [one, two].map((redis) => createCounter(counterDeps(redis), 'writes', 50))
    const key = crypto.randomUUID()
    const outcomes = await Promise.all(counts.map((count) => allowed(count, key, 100)))
    expect(outcomes.reduce((sum, n) => sum + n)).toBe(50)
  })

  test('admits requests in order of arrival', async () => {
    const count = createCounter(counterDeps(await connected()), 'writes', 5)
    const key = crypto.randomUUID()
    const remaining = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        if (index > 3) await new Promise(setImmediate)
        return count(key).then(
          (headers) => headers['x-ratelimit-remaining'],
          () => 'refused',
        )
      }),
    )
    expect(remaining).toEqual(['4', '3', '2', '1', '0', 'refused', 'refused', 'refused'])
  })

  test('ends with its window, although the clock of the machine was set back', async () => {
    for (const redis of [null, await connected()]) {
      const window = createWindow({ redis, log }, { policy: 'test', limit: 2, windowSeconds: 1 })
      const key = crypto.randomUUID()
      for (let n = 0; n < 3; n++) await window.consume(key)
      setSystemTime(new Date(Date.now() - 3_600_000))
      try {
        const { allowed, resetMs } = await window.consume(key)
        expect([allowed, resetMs <= 1_000]).toEqual([false, true])
        await eventually(async () => (await window.consume(key)).allowed, { deadlineMs: 10_000 })
      } finally {
        setSystemTime()
      }
    }
  })

  test('of 0 switches it off: no counting, no headers', async () => {
    const count = createCounter(counterDeps(null), 'writes', 0)
    expect(await allowed(count, 'a', 100)).toBe(100)
    expect(await count('a')).toEqual({})
  })

  test('reports the remaining allowance in headers', async () => {
    const count = createCounter(counterDeps(null), 'writes', 2)
    const before = Date.now() / 1000
    const headers = (await count('a')) as Record<string, string>
    expect(headers).toMatchObject({
      'ratelimit-policy': '"writes";q=2;w=60',
      ratelimit: '"writes";r=1;t=60',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
    })
    const reset = Number(headers['x-ratelimit-reset'])
    expect(reset).toBeGreaterThanOrEqual(Math.floor(before) + 60)
    expect(reset).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 61)
  })

  test('that is reached sends Retry-After', async () => {
    for (const redis of [null, await connected()]) {
      const count = createCounter(counterDeps(redis), 'writes', 1)
      const key = crypto.randomUUID()
      await count(key)
      for (let repetition = 0; repetition < 2; repetition++) {
        const error = await count(key).then(
          () => null,
          (reason: AppError) => reason,
        )
        const wait = Number(error?.headers['retry-after'])
        expect(wait).toBeWithin(1, 61)
        expect(error?.headers.ratelimit).toBe(`"writes";r=0;t=${wait}`)
        expect(error?.headers['x-ratelimit-remaining']).toBe('0')
      }
    }
  })
})

describe('without Redis', () => {
  test('killed between two requests: the process counts locally and returns to Redis once it is back', async () => {
    const redis = await connected()
    const count = createCounter(counterDeps(redis), 'writes', 3)
    const key = crypto.randomUUID()
    expect(await allowed(count, key, 2)).toBe(2)
    await server.kill()
    expect(await allowed(count, key, 10)).toBe(3)
    await server.restart()
    await eventually(async () => {
      await count(key).catch(() => {})
      return (await server.command('GET', `earshot:limit:writes:${key}`)) !== null
    })
  })

  test('hanging: the process tries it once, then stops waiting for it', async () => {
    const count = createCounter(counterDeps(await connected()), 'writes', 100)
    const key = crypto.randomUUID()
    server.signal('SIGSTOP')
    try {
      const first = count(key)
      await new Promise(setImmediate)
      expect(await allowed(count, key, 20)).toBe(20)
      await first
      expect(await allowed(count, key, 20)).toBe(20)
    } finally {
      server.signal('SIGCONT')
    }
    // What it was sent while it hung it has done by the time it answers this.
    expect(await server.command('GET', `earshot:limit:writes:${key}`)).toBe('1')
  })
})

const ORGANIZATION = crypto.randomUUID()
/** Credentials that name their principal: who is calling is not what this file is about. */
const identity: Authentication = {
  byApiKey: async (key) =>
    key === 'bad' ? null : { kind: 'organization', organizationId: ORGANIZATION, apiKeyId: key },
  byAgentSecret: async (secret) =>
    secret === 'bad'
      ? null
      : { kind: 'agent', organizationId: ORGANIZATION, applicationId: secret.slice(0, 1), secretId: secret },
  byToken: async (token) => ({
    kind: 'user',
    organizationId: ORGANIZATION,
    userId: token,
    role: 'viewer',
  }),
  byPublishableKey: async () => null,
  bySession: async () => ({ refused: 'no sessions here' }),
  personByToken: async (token) => ({ kind: 'person', userId: token }),
  personBySession: async () => ({ refused: 'no sessions here' }),
}

const OPERATIONS: readonly Operation[] = [
  declare('GET', '/read', 'organizationOrUser', async () => ok({})),
  declare('POST', '/write', 'organizationOrUser', async () => created('/x', {})),
  declare('DELETE', '/write', 'organizationOrUser', async () => noContent()),
  declare('POST', '/conflict', 'organizationOrUser', async () => {
    throw new AppError('name_exists', 'There is one.', { headers: { 'x-own': '1' } })
  }),
  declare('POST', '/ingest', 'agent', async () => ok({})),
]

function declare(
  method: Operation['method'],
  path: string,
  access: Operation['access'],
  handler: Operation['handler'],
): Operation {
  const success = { status: 200, description: 'Done' } as const
  return operation({ id: `${method}${path}`, method, path, tag: 't', summary: 's', access, success, handler })
}

/** The operations above behind a real server. */
function serve(env: Record<string, string>) {
  const deps = { ...counterDeps(null), config: loadConfig(env) as Config }
  const app = new Elysia({ normalize: false })
    .onRequest(({ set }) => {
      set.headers['x-request-id'] = 'r'
    })
    .onError(({ error, request }) => {
      const context = { path: new URL(request.url).pathname, requestId: 'r', now: new Date() }
      return renderError(toAppError(error, context, log, ERRORS), context, ERRORS)
    })
    .use(
      mount(OPERATIONS, {
        newId,
        errors: ERRORS,
        bodies: createBodyBudget({ maxBytes: 1_000_000, deadlineMs: 30_000 }),
        work: createRequestWork(),
        authenticate: createAuthenticate({
          config: { publicBaseUrl: null },
          identity,
          countFailure: createFailureLimit(deps),
        }),
        limit: createLimit(deps),
        recordRead: () => {},
      }),
    )
    .listen({ port: 0, hostname: '127.0.0.1' })
  cleanups.push(() => app.stop(true))
  return (method: string, path: string, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${app.server?.port}${path}`, { method, headers })
}

const key = (value: string) => ({ 'x-service-api-key': value })

describe('the limits of operations', () => {
  test('reads and writes are counted separately for each caller', async () => {
    const send = serve({ RATE_LIMIT_READS: '2', RATE_LIMIT_WRITES: '1' })
    const status = async (...request: Parameters<typeof send>) => (await send(...request)).status
    expect(await status('GET', '/read', key('a'))).toBe(200)
    expect(await status('POST', '/write', key('a'))).toBe(201)
    expect(await status('DELETE', '/write', key('a'))).toBe(429)
    expect(await status('GET', '/read', key('a'))).toBe(200)
    expect(await status('GET', '/read', key('a'))).toBe(429)
    expect(await status('GET', '/read', key('b'))).toBe(200)
    expect(await status('POST', '/write', { authorization: 'Bearer ann' })).toBe(201)
    expect(await status('POST', '/write', { authorization: 'Bearer bob' })).toBe(201)
    expect(await status('POST', '/write', { authorization: 'Bearer bob' })).toBe(429)
  })

  test('agent ingestion is counted per application, across all its secrets', async () => {
    const send = serve({ RATE_LIMIT_AGENT_INGEST: '2' })
    const status = async (secret: string) =>
      (await send('POST', '/ingest', { 'x-service-agent-key': secret })).status
    expect([await status('A1'), await status('A2'), await status('A1'), await status('B1')]).toEqual([
      200, 200, 429, 200,
    ])
  })

  test('every response has the headers, including errors', async () => {
    const send = serve({})
    for (const [method, path, expected] of [
      ['GET', '/read', 200],
      ['POST', '/write', 201],
      ['DELETE', '/write', 204],
      ['POST', '/conflict', 409],
    ] as const) {
      const reply = await send(method, path, key('a'))
      expect(reply.status).toBe(expected)
      expect(reply.headers.get('ratelimit-policy')).toMatch(/^"(reads|writes)";q=\d+;w=60$/)
      expect(reply.headers.get('ratelimit')).toMatch(/^"(reads|writes)";r=\d+;t=\d+$/)
      expect(reply.headers.get('x-ratelimit-reset')).toMatch(/^\d{10}$/)
      expect(reply.headers.get('x-request-id')).toBe('r')
      if (expected === 409) expect(reply.headers.get('x-own')).toBe('1')
    }
  })

  test('a refused request is 429 with Retry-After and the headers', async () => {
    const send = serve({ RATE_LIMIT_WRITES: '1' })
    await send('POST', '/write', key('a'))
    const reply = await send('POST', '/write', key('a'))
    expect(reply.status).toBe(429)
    expect(await reply.json()).toMatchObject({ statusCode: 429, code: 'rate_limited' })
    expect(reply.headers.get('ratelimit')).toBe(`"writes";r=0;t=${reply.headers.get('retry-after')}`)
  })
})

describe('failed authentications', () => {
  test('are counted per client, across all kinds of credentials', async () => {
    const send = serve({ RATE_LIMIT_FAILED_AUTHENTICATION: '3' })
    const tries: readonly Record<string, string>[] = [
      key('bad'),
      { 'x-service-agent-key': 'bad' },
      {},
      key('bad'),
      {},
    ]
    const statuses: number[] = []
    for (const headers of tries)
      statuses.push(
        (await send('POST', 'x-service-agent-key' in headers ? '/ingest' : '/write', headers)).status,
      )
    expect(statuses).toEqual([401, 401, 401, 429, 429])
  })

  test('do not block a valid credential from the same address', async () => {
    const send = serve({ RATE_LIMIT_FAILED_AUTHENTICATION: '1' })
    for (let i = 0; i < 3; i++) await send('POST', '/write', key('bad'))
    expect((await send('POST', '/write', key('good'))).status).toBe(201)
  })

  test('are counted per client behind a trusted proxy', async () => {
    const trusting = serve({ RATE_LIMIT_FAILED_AUTHENTICATION: '1', TRUSTED_PROXIES: '127.0.0.0/8' })
    const from = async (send: typeof trusting, address: string) =>
      (await send('POST', '/write', { ...key('bad'), 'x-forwarded-for': address })).status
    expect(await from(trusting, '192.0.2.1')).toBe(401)
    expect(await from(trusting, '192.0.2.2')).toBe(401)
    expect(await from(trusting, '192.0.2.1')).toBe(429)
    const wary = serve({ RATE_LIMIT_FAILED_AUTHENTICATION: '1' })
    expect(await from(wary, '192.0.2.1')).toBe(401)
    expect(await from(wary, '192.0.2.2')).toBe(429)
  })
})
