/** A user of Redis with the rights that docs/self-hosting.md names: enough for everything, and none is too many. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createNotifier, createWakeUpSources } from '../../src/actors/notifier.ts'
import { streamLag } from '../../src/actors/notifier-redis.ts'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { createWindow } from '../../src/http/rate-window.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { openRedis, type Redis } from '../../src/platform/redis.ts'
import { assertRedisUsable } from '../../src/platform/redis-usable.ts'
import { freePort } from '../crash/support/private-postgres.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'
import { documentedRights } from './support/broken-redis.ts'

setDefaultTimeout(120_000)

const log = createLog('silent', 'test')
let server: PrivateRedis
let url: string
let database: TestDatabase
let name: string
beforeAll(async () => {
  const port = freePort()
  ;[server, database] = await Promise.all([startPrivateRedis(port), createTestDatabase()])
  url = `redis://ada:right@127.0.0.1:${port}`
  name = new URL(database.url).pathname.slice(1)
})
afterAll(() => Promise.all([server?.stop(), database?.drop()]))

const allow = (rights: readonly string[]) =>
  server.command('ACL', 'SETUSER', 'ada', 'reset', 'on', '>right', ...rights)

async function withClient<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = openRedis(url, log)
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

const failure = () => withClient((redis) => assertRedisUsable(redis, name).then(String, String))

test('are enough for wake-ups, counters and probes', async () => {
  await allow(documentedRights(name))
  expect(await failure()).toBe('undefined')
  const config = loadConfig({ LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: database.url }, redis: url }, 'test')
  try {
    const { redis, sql } = container
    const sources = await createWakeUpSources(container, ['short'], 'w')
    const source = sources.get('short')!
    const kinds = new Map([['session', 'short']]) as never
    const notifier = createNotifier({ ...container, kinds })
    await eventually(async () => {
      notifier.notify([{ key: 'session:1' as never, seq: 1, type: 't' }])
      expect(await source.take(10)).toContainEqual(expect.objectContaining({ key: 'session:1' }))
    })
    expect(await streamLag(redis!, sql, 'short')).toBe(0)
    await source.close()
    await notifier.close()
    const window = createWindow({ redis, log }, { policy: 'test', limit: 2, windowSeconds: 60 })
    expect(await window.consume('a')).toMatchObject({ allowed: true, remaining: 1 })
    expect(await window.peek('a')).toMatchObject({ remaining: 1 })
  } finally {
    await container.close()
  }
  expect(await server.command('GET', 'earshot:limit:test:a')).toBe('1')
  // What was refused.
  const refused = (await server.command('ACL', 'LOG')) as readonly (readonly unknown[])[]
  expect(refused.map((entry) => entry[entry.indexOf('object') + 1])).toEqual([])
})

test('a command that is refused is logged, once a minute', async () => {
  const lines: unknown[] = []
  await allow(documentedRights(name).filter((right) => right !== '+xadd'))
  const redis = openRedis(url, { ...log, warn: (fields: unknown) => void lines.push(fields) } as never)
  try {
    for (let round = 0; round < 2; round += 1) await assertRedisUsable(redis, name).catch(() => {})
  } finally {
    redis.disconnect()
  }
  expect(lines).toEqual([{ err: expect.stringMatching(/^NOPERM .*'xadd'/) }])
})

describe('one of them less is named', () => {
  const rights = documentedRights('x').filter((right) => right.startsWith('+'))
  test.each(rights)('%s', async (right) => {
    await allow(documentedRights(name).filter((one) => one !== right))
    const command = right.slice(1).replace('|', ' ').toUpperCase()
    const shown = command === 'MULTI' || command === 'EXEC' ? 'MULTI and EXEC' : command
    expect(await failure()).toBe(
      `NeedsOperator: The user in REDIS_URL may not run ${shown}. Allow it, for example by ACL SETUSER.`,
    )
  })

  test('the keys', async () => {
    await allow(documentedRights('elsewhere'))
    expect(await failure()).toContain('may not use the keys')
  })
})
