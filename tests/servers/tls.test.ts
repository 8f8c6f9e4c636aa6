/**
 * PostgreSQL and Redis with TLS, behind a private authority: what the parameters of libpq say is what happens, and the connections are
 * encrypted.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { loadConfig } from '../../src/app/config.ts'
import { connect } from '../../src/platform/db/pool.ts'
import { isServerAway } from '../../src/platform/db/sqlstate.ts'
import { createLog } from '../../src/platform/observability/log.ts'
import { openRedis } from '../../src/platform/redis.ts'
import { freePort, type PrivatePostgres, startPrivatePostgres } from '../crash/support/private-postgres.ts'
import { type Authority, type Certificate, createAuthority } from '../support/authority.ts'
import { eventually } from '../support/eventually.ts'
import { type PrivateRedis, startPrivateRedis } from '../support/private-redis.ts'

setDefaultTimeout(120_000)

let authority: Authority
let stranger: Authority
/** For 127.0.0.1, and for another name. */
let [own, other]: Certificate[] = []
let client: Certificate
let postgres: PrivatePostgres

beforeAll(async () => {
  ;[authority, stranger] = await Promise.all([createAuthority(), createAuthority()])
  own = await authority.issue('localhost')
  other = await authority.issue('elsewhere.example')
  client = await authority.issue('postgres')
  postgres = await startPrivatePostgres(await freePort())
})
afterAll(async () => {
  await postgres?.stop()
  await Promise.all([authority?.remove(), stranger?.remove()])
})

async function ask(parameters: string): Promise<boolean> {
  const url = `${postgres.url}?${parameters}`
  const sql = connect({ url }, { max: 1, applicationName: 'test', statementTimeoutMs: null })
  try {
    const [row] = await sql<[{ ssl: boolean }]>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`
    return row.ssl
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** Files of the server are written by itself, because they must be its own. */
async function serve({ cert, key }: Certificate, access = 'host all all 127.0.0.1/32 trust'): Promise<void> {
  const sql = connect({ url: postgres.url }, { max: 1, applicationName: 'test', statementTimeoutMs: null })
  const write = (name: string, text: string) =>
    sql.unsafe(
      `copy (select unnest(string_to_array('${text.trim()}', E'\n'))) to program 'umask 077; cat > ${name}'`,
    )
  try {
    await write('server.crt', readFileSync(cert, 'utf8'))
    await write('server.key', readFileSync(key, 'utf8'))
    await write('root.crt', readFileSync(authority.root, 'utf8'))
    await write('pg_hba.conf', access)
    await sql`alter system set ssl_ca_file = 'root.crt'`
    await sql`alter system set ssl = on`
    await sql`select pg_reload_conf()`
  } finally {
    await sql.end({ timeout: 1 })
  }
  const root = `sslmode=verify-ca&sslrootcert=${authority.root}&sslcert=${client.cert}&sslkey=${client.key}`
  await eventually(async () => expect(await ask(root)).toBe(true))
}

describe('PostgreSQL', () => {
  test('by its socket', async () => {
    const { socketFolder, port } = postgres
    for (const url of [
      `postgres:///postgres?host=${socketFolder}&port=${port}&user=postgres`,
      `postgres://postgres:p@/postgres?host=${encodeURIComponent(socketFolder)}&port=${port}`,
    ]) {
      const sql = connect({ url }, { max: 1, applicationName: 'test', statementTimeoutMs: null })
      const [row] = await sql`select inet_server_addr() is null as "isLocal"`
      await sql.end({ timeout: 1 })
      expect(row?.isLocal).toBe(true)
    }
  })

  test('without TLS: what requires it fails at once, and what prefers it goes on', async () => {
    const begun = performance.now()
    const error = await ask('sslmode=require').catch((reason: unknown) => reason)
    expect(String(error)).toContain('does not offer TLS')
    // So a start does not wait for it.
    expect(isServerAway(error)).toBe(false)
    expect(performance.now() - begun).toBeLessThan(5_000)
    for (const mode of ['prefer', 'allow']) expect(await ask(`sslmode=${mode}`)).toBe(false)
  })

  test('with a certificate for its name', async () => {
    await serve(own as Certificate)
    for (const mode of ['prefer', 'require']) expect(await ask(`sslmode=${mode}`)).toBe(true)
    expect(await ask('sslmode=disable')).toBe(false)
    for (const mode of ['require', 'verify-ca', 'verify-full']) {
      expect(await ask(`sslmode=${mode}&sslrootcert=${authority.root}`)).toBe(true)
      await expect(ask(`sslmode=${mode}&sslrootcert=${stranger.root}`)).rejects.toThrow()
    }
    await expect(ask('sslmode=verify-full')).rejects.toThrow()
  })

  test('with a certificate for another name: only verify-full refuses it', async () => {
    await serve(other as Certificate)
    const root = `sslrootcert=${authority.root}`
    expect(await ask(`sslmode=verify-ca&${root}`)).toBe(true)
    await expect(ask(`sslmode=verify-full&${root}`)).rejects.toThrow()
  })

  test('that asks for a certificate of the client', async () => {
    await serve(own as Certificate, 'hostssl all all 127.0.0.1/32 cert')
    await expect(ask('sslmode=require')).rejects.toThrow()
    const files = `sslcert=${client.cert}&sslkey=${client.key}`
    expect(await ask(`sslmode=verify-full&sslrootcert=${authority.root}&${files}`)).toBe(true)
  })
})

describe('Redis', () => {
  let redis: PrivateRedis
  afterAll(() => redis?.stop())

  test('with TLS and certificates of clients', async () => {
    const port = await freePort()
    const { cert, key } = own as Certificate
    redis = await startPrivateRedis(0, [
      ...['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key],
      ...['--tls-ca-cert-file', authority.root],
    ])
    const answer = async (env: Record<string, string>) => {
      const { redisUrl } = loadConfig({ REDIS_URL: `rediss://127.0.0.1:${port}`, ...env })
      const client = openRedis(redisUrl ?? '', createLog('silent', 'test'))
      try {
        await new Promise((resolve, reject) => client.once('ready', resolve).once('error', reject))
        return await client.ping()
      } finally {
        client.disconnect()
      }
    }
    const files = { REDIS_TLS_CERT: client.cert, REDIS_TLS_KEY: client.key }
    expect(await answer({ REDIS_TLS_CA: authority.root, ...files })).toBe('PONG')
    await expect(answer({ REDIS_TLS_CA: stranger.root, ...files })).rejects.toThrow()
    await expect(answer(files)).rejects.toThrow()
  })

  test.each([
    [{ REDIS_URL: 'redis://h?db=3' }, 'the number of a database'],
    [{ REDIS_URL: 'redis://h/abc' }, 'the number of a database'],
    [{ REDIS_URL: 'redis://h', REDIS_TLS_CA: import.meta.path }, 'unset where REDIS_URL'],
    [{ REDIS_URL: 'rediss://h', REDIS_TLS_CA: '/no/such/file' }, 'a readable file'],
    [{ REDIS_URL: 'rediss://h', REDIS_TLS_CERT: import.meta.path }, 'both of REDIS_TLS_CERT'],
  ])('%p is refused', (env, why) => {
    expect(() => loadConfig(env)).toThrow(why)
  })
})
