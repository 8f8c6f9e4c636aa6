/** Processes that share the database in DATABASE_URL: migration, endpoints of each role, and shutdown. */

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { createTestDatabase, type TestDatabase, testServer } from '../support/database.ts'
import { EARSHOT } from '../support/executable.ts'
import { useServices } from '../support/process.ts'

setDefaultTimeout(300_000)

describe('with DATABASE_URL', () => {
  const services = useServices()
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase({ migrated: false })
  })
  afterAll(() => database.drop())

  test('ten processes migrate an empty database at once: each migration is applied once, and none fails', async () => {
    const migrations = await Promise.all(
      Array.from({ length: 10 }, () =>
        services.start({
          command: [...EARSHOT, 'migrate'],
          ready: 'none',
          env: { DATABASE_URL: database.url },
        }),
      ),
    )
    const codes = await Promise.all(migrations.map(({ exited }) => exited))
    expect(codes).toEqual(Array.from({ length: 10 }, () => 0))
    const rows = await database.sql`select number from schema_migration order by number`
    expect(rows.map(({ number }) => number)).toEqual(MIGRATIONS.map(({ number }) => number))
  })

  test.each([
    ['api', 200],
    ['worker', 404],
  ] as const)(
    'ROLE=%s: health, readiness and metrics; /docs is %i; SIGINT stops it properly',
    async (role, docs) => {
      const service = await services.start({ env: { DATABASE_URL: database.url, ROLE: role } })
      const statusOf = async (path: string) => (await fetch(`${service.baseUrl}${path}`)).status
      expect(await Promise.all(['/health', '/ready', '/metrics', '/docs'].map(statusOf))).toEqual([
        200,
        200,
        200,
        docs,
      ])
      expect(await service.kill('SIGINT')).toBe(0)
    },
  )

  test('the banner reports an unreachable Redis once; everything else works', async () => {
    const env = { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1', LOG_LEVEL: 'silent' }
    const service = await services.start({ env, ready: /Transcribes/ })
    expect(service.output().match(/Redis does not answer/g)).toHaveLength(1)
    const address = /Address +(\S+)/.exec(service.output())?.[1]
    expect((await fetch(`${address}/health`)).status).toBe(200)
    const well = await services.start({ env: { ...env, REDIS_URL: testServer('TEST_REDIS_URL') } })
    expect(well.output()).toContain('Redis at ')
    expect(well.output()).not.toContain('does not answer')
    expect(await Promise.all([service, well].map((one) => one.kill()))).toEqual([0, 0])
  })

  test('no embedded server is started and no folder is created', () => {
    expect(existsSync(join(services.folder, 'data', 'postgres'))).toBe(false)
    expect(existsSync(join(services.folder, 'data', 'redis'))).toBe(false)
  })

  test('/ready is 503 and names the missing migrations while the schema is behind; /health stays 200', async () => {
    const service = await services.start({ env: { DATABASE_URL: database.url, ROLE: 'api' } })
    const last = MIGRATIONS.at(-1)?.number ?? 0
    await database.sql`update schema_migration set number = -1 where number = ${last}`
    const ready = await fetch(`${service.baseUrl}/ready`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({
      status: 'not_ready',
      checks: { database: { status: 'ok' }, migrations: { status: 'failed' } },
    })
    expect((await fetch(`${service.baseUrl}/health`)).status).toBe(200)
    await database.sql`update schema_migration set number = ${last} where number = -1`
    await service.kill()
  })

  test('a request is logged once with method, path, status and request id, and without its query', async () => {
    const service = await services.start({
      env: { DATABASE_URL: database.url, ROLE: 'all' },
      ready: /Address/,
    })
    const port = /Address +http:\S+:(\d+)/.exec(service.output())?.[1]
    await fetch(`http://127.0.0.1:${port}/no/such?token=hunter2`, { headers: { 'x-request-id': 'r-1' } })
    await service.kill()
    const lines = service
      .output()
      .split('\n')
      .filter((line) => line.includes('/no/such'))
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        method: 'GET',
        path: '/no/such',
        status: 404,
        requestId: 'r-1',
        msg: 'request',
      }),
    ])
    expect(service.output()).not.toContain('hunter2')
  })
})
