/** `/ready` is 200, and degraded with the name of the part, while PostgreSQL, Redis or the object store answers but does not do its work. */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { loadConfig } from '../../src/app/config.ts'
import { createContainer } from '../../src/app/container.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { healthRoutes } from '../../src/platform/observability/health.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startS3 } from '../support/s3/server.ts'
import { startFullServer } from './support/broken-database.ts'
import { brokenRedis } from './support/broken-redis.ts'
import { brokenStorage } from './support/broken-storage.ts'
import type { Undo } from './support/set-up.ts'

setDefaultTimeout(300_000)

const canMount = process.platform === 'linux' && process.geteuid?.() === 0
const undoing: Undo[] = []
const undo = (work: Undo) => void undoing.unshift(work)
afterEach(async () => {
  for (const work of undoing.splice(0)) await work()
})

interface Ready {
  readonly httpStatus: number
  readonly status: string
  readonly checks: Readonly<Record<string, { readonly status: string }>>
  readonly degraded: readonly { readonly part: string; readonly effect: string }[]
}

/** Resolves with the answer, once it is `degraded`. */
async function degraded(env: Readonly<Record<string, string>>, databaseUrl: string): Promise<Ready> {
  const folder = mkdtempSync(join(tmpdir(), 'earshot-ready-'))
  undo(() => rmSync(folder, { recursive: true }))
  const config = loadConfig({ LOG_LEVEL: 'silent', DATA_DIR: folder, ...env })
  const servers = { database: { url: databaseUrl }, redis: config.redisUrl }
  const container = createContainer(config, servers, 'test')
  undo(() => container.close())
  const routes = healthRoutes(container)
  return eventually(async () => {
    const answer = await routes.handle(new Request('http://localhost/ready'))
    const body = { httpStatus: answer.status, ...((await answer.json()) as Omit<Ready, 'httpStatus'>) }
    expect(body).toMatchObject({ status: 'degraded', httpStatus: 200 })
    return body
  })
}

async function testDatabase(): Promise<string> {
  const database = await createTestDatabase()
  undo(() => database.drop())
  return database.url
}

const effects = ({ degraded }: Ready) => degraded.map(({ part, effect }) => `${part}: ${effect}`)

test.skipIf(!canMount)('PostgreSQL with a full disk', async () => {
  const url = await startFullServer(undo, async (url) => {
    const sql = connect({ url }, { max: 1, applicationName: 'test', statementTimeoutMs: null })
    await migrate(sql, MIGRATIONS)
    await sql.end({ timeout: 1 })
  })
  const answer = await degraded({}, url)
  expect(answer.checks).toMatchObject({ database: { status: 'failed' }, migrations: { status: 'ok' } })
  expect(effects(answer)).toEqual([
    'database: Nothing new can be stored: such requests fail, and are sent again. What is stored can be read. The disk of PostgreSQL is full. Free space on it.',
  ])
})

test.each(['The user of Redis may not run `XADD`', 'Redis has reached `maxmemory`'])('%s', async (name) => {
  const url = await testDatabase()
  const setUp = brokenRedis(() => new URL(url).pathname.slice(1)).find((one) => one.name === name)!
  const answer = await degraded(await setUp.begin(undo), url)
  expect(answer.checks).toMatchObject({ database: { status: 'ok' }, redis: { status: 'failed' } })
  expect(effects(answer)).toEqual([
    expect.stringMatching(/^redis: Workers .* (?:may not run XADD|has reached its maxmemory)/),
  ])
})

test('the object store refuses to put, is full, or the disk before it is', async () => {
  const s3 = await startS3()
  undo(() => s3.stop())
  const url = await testDatabase()
  const names = ['The access key may not put objects', 'The object store is full']
  if (canMount) names.push('The disk of `DATA_DIR/spool` is full')
  const remedies = ['s3:PutObject', 'The object store is full', 'DATA_DIR/spool']
  for (const [index, name] of names.entries()) {
    const setUp = brokenStorage(() => s3, canMount).find((one) => one.name === name)!
    const answer = await degraded(await setUp.begin(undo), url)
    expect(answer.checks).toMatchObject({ database: { status: 'ok' }, storage: { status: 'failed' } })
    expect(effects(answer)).toEqual([
      expect.stringMatching(new RegExp(`^storage: Media cannot be stored.*${remedies[index]}`)),
    ])
  }
})
