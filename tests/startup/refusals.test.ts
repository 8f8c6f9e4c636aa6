/** An error in the settings or the environment ends the start with exactly one line and exit code 1. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../sql/migrations.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { useServices } from '../support/process.ts'

setDefaultTimeout(300_000)

const services = useServices()

/** The whole output of a start that fails. */
async function refusal(env: Readonly<Record<string, string>>): Promise<string> {
  const service = await services.start({ ready: 'none', env })
  expect(await service.exited).toBe(1)
  return service.output()
}

describe('wrong settings', () => {
  const cases: readonly [env: Record<string, string>, line: string][] = [
    [{ PORT: '65536' }, 'PORT is "65536", but must be a whole number from 0 to 65535'],
    [{ PORT: '3e3' }, 'PORT is "3e3", but must be a whole number from 0 to 65535'],
    [{ ROLE: 'both' }, 'ROLE is "both", but must be one of all, api, worker'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL is "loud", but must be one of debug, info, warn, error, silent'],
    [{ WORKER_THREADS: '0' }, 'WORKER_THREADS is "0", but must be a whole number from 1 to 64'],
    [
      { TRUSTED_PROXIES: '10.0.0.0' },
      'TRUSTED_PROXIES is "10.0.0.0", but must be a comma-separated list of CIDR blocks, such as 10.0.0.0/8',
    ],
    [
      { OUTBOUND_ALLOW: '127.0.0.0/8, 10.0.0.0/33' },
      'OUTBOUND_ALLOW is "10.0.0.0/33", but must be a comma-separated list of CIDR blocks, such as 10.0.0.0/8',
    ],
    [
      { DATABASE_URL: 'mysql://user:hunter2@host/db' },
      'DATABASE_URL is (value hidden), but must be a URL that starts with postgres:// or postgresql://; write # as %23, % as %25, / as %2F, ? as %3F and @ as %40 in a user name or password',
    ],
    [
      { REDIS_URL: 'hunter2' },
      'REDIS_URL is (value hidden), but must be a URL that starts with redis:// or rediss:// or redis+unix://',
    ],
    [
      { ROLE: 'worker' },
      'DATABASE_URL is not set, but ROLE=worker needs it: a worker joins a running service',
    ],
    [
      { OIDC_ISSUER: 'https://issuer.example' },
      'OIDC_AUDIENCE is not set, but must be the expected audience when OIDC_ISSUER is set',
    ],
  ]
  test.concurrent.each(cases)('%o: the error names variable, value and allowed values', async (env, line) => {
    expect(await refusal(env)).toBe(`${line}\n`)
  })
})

test('an occupied port at the first start leaves no installation behind, and the next start prints the link', async () => {
  const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const { port } = taken
  const output = await refusal({ PORT: String(port) })
  await taken.stop(true)
  expect(output).toBe(`PORT is ${port}, but another program listens there: stop it, or choose another port\n`)
  expect(existsSync(join(services.folder, 'data', 'postgres'))).toBe(false)
  const service = await services.start()
  expect(service.output()).toMatch(/Sign in +http:/)
  await service.kill()
})

describe('wrong environment', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())

  test('an unreachable database server is named without its password', async () => {
    const output = await refusal({
      DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/db',
      DATABASE_WAIT: '0',
    })
    expect(output).toMatch(/^PostgreSQL at 127\.0\.0\.1:1\/db cannot be used: .*ECONNREFUSED.*\n$/)
    expect(output).not.toContain('hunter2')
  })

  test('a missing database is named', async () => {
    const url = new URL(database.url)
    url.pathname = '/nowhere_at_all'
    expect(await refusal({ DATABASE_URL: url.href })).toBe(
      `PostgreSQL at ${url.host}/nowhere_at_all cannot be used: database "nowhere_at_all" does not exist\n`,
    )
  })

  test('an occupied port is named, never shared', async () => {
    const taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const { port } = taken
    const output = await refusal({ DATABASE_URL: database.url, PORT: String(port) })
    await taken.stop(true)
    expect(output).toBe(
      `PORT is ${port}, but another program listens there: stop it, or choose another port\n`,
    )
  })

  test('a newer compatible schema is accepted; a breaking one is refused', async () => {
    const newer = (MIGRATIONS.at(-1)?.number ?? 0) + 1
    await database.sql`
      insert into schema_migration (number, name, checksum, breaking)
      values (${newer}, 'later', 'x', false)`
    const service = await services.start({ env: { DATABASE_URL: database.url, ROLE: 'api' } })
    await service.kill()
    await database.sql`update schema_migration set breaking = true where number = ${newer}`
    expect(await refusal({ DATABASE_URL: database.url })).toBe(
      `The database has migration ${newer} (later). This older version does not work with it\n`,
    )
  })
})
