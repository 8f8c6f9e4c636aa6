/** PostgreSQL URLs are read as libpq reads them, and nothing keeps state in a connection that a pooler may give to another. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfig } from '../../src/app/config.ts'
import { readAddress } from '../../src/platform/db/address.ts'

const ROOT = resolve(import.meta.dir, '../..')

describe('a PostgreSQL URL', () => {
  test.each([
    ['postgres://ada@h1:5433/db', ['h1'], [5433]],
    ['postgres://ada:secret@h1:5433,h2:5434/db', ['h1', 'h2'], [5433, 5434]],
    ['postgres://h1:5433,h2/db', ['h1', 'h2'], [5433, 5432]],
    ['postgres://h1,h2:5434/db', ['h1', 'h2'], [5432, 5434]],
    ['postgresql://[::1]:5433,[2001:db8::1]/db', ['::1', '2001:db8::1'], [5433, 5432]],
    ['postgres:///db', ['localhost'], [5432]],
    ['postgres://a:p%40ss@h1', ['h1'], [5432]],
    ['postgres:///db?host=/run/postgresql&port=5433', ['/run/postgresql'], [5433]],
    ['postgres://u:p@/db?host=%2Frun%2Fpostgresql', ['/run/postgresql'], [5432]],
    ['postgres://h0/db?host=h1,h2&port=5433', ['h1', 'h2'], [5433, 5433]],
    ['postgres:///db?host=h1,::1&port=5433,5434', ['h1', '::1'], [5433, 5434]],
    ['postgres:///db?host=/100%25run', ['/100%run'], [5432]],
  ])('%s', (url, hosts, ports) => {
    expect(readAddress(url)).toMatchObject({ hosts, ports })
  })

  test.each([
    'postgres://h1:0/db',
    'postgres://h1:65536,h2/db',
    'postgres://h1:a/db',
    'postgres://h%zz/db',
    'postgres://ada:50%@h1/db',
    'postgres:///db?host=h1&port=5432.5',
    'http://h1/db',
    'h1',
    'postgres://ada:12/34@h1/db',
    'postgres://ada:12?34@h1/db',
    'postgres://ada:12#34@h1/db',
  ])('%s is refused without being repeated', (url) => {
    expect(readAddress(url)).toHaveProperty('refused')
    expect(() => loadConfig({ DATABASE_URL: url })).toThrow(
      /^DATABASE_URL is \(value hidden\), but must be a URL/,
    )
  })

  test('takes user, password and database as parameters, too', () => {
    const address = readAddress('postgres://?host=h1&user=ada&password=p%2Fw&dbname=sales')
    expect(address).toMatchObject({ place: 'h1/sales', url: { username: 'ada', password: 'p%2Fw' } })
  })

  const MODES = 'sslmode=disable, allow, prefer, require, verify-ca, verify-full'
  test.each([
    ['sslmode=bogus', MODES],
    ['sslmode=require&sslcert=/a.pem', 'both of sslcert and sslkey'],
    ['sslmode=prefer&sslrootcert=/a.pem', 'sslmode=require or stricter'],
    ['channel_binding=require', 'without this value of channel_binding'],
    ['gssencmode=require', 'without this value of gssencmode'],
    ['keepalives=0', 'without this value of keepalives'],
    ['keepalives_idle=x', 'in whole seconds'],
    ['connect_timeout=-1', 'in whole seconds'],
    ['hostaddr=10.0.0.1', 'without this value of hostaddr'],
    ['sslcrl=/a.pem', 'without this value of sslcrl'],
    ['sslmode=verify-full&sslrootcert=/no/such/file.pem', 'whose sslrootcert is a readable file'],
  ])('with %s is refused by name', (parameter, why) => {
    expect(() => loadConfig({ DATABASE_URL: `postgres://ada:secret@h1/db?${parameter}` })).toThrow(why)
    expect(() => loadConfig({ DATABASE_URL: `postgres://ada:secret@h1/db?${parameter}` })).not.toThrow(
      'secret',
    )
  })

  test.each([
    'channel_binding=prefer',
    'gssencmode=disable',
    'keepalives=1',
    'keepalives_idle=30',
    'options=-c%20jit%3Doff',
  ])('with %s is taken', (parameter) => {
    expect(loadConfig({ DATABASE_URL: `postgres://h1/db?${parameter}` }).databaseUrl).toContain(parameter)
  })

  test.each([
    [{ PGSSLMODE: 'verify-full', PGSSLROOTCERT: import.meta.path }, 'verify-full', import.meta.path],
    [{ PGSSLMODE: 'bogus' }, null, null],
    [{ PGSSLROOTCERT: '/no/such/file.pem' }, 'disable', null],
  ])('takes what the variables of libpq say: %p', (env, mode, authority) => {
    const load = () => loadConfig({ DATABASE_URL: 'postgres://h1/db', ...env }).databaseUrl ?? ''
    if (mode === null) expect(load).toThrow('sslmode')
    else expect(readAddress(load())).toMatchObject({ tls: { mode, authority } })
    const own = loadConfig({ DATABASE_URL: 'postgres://h1/db?sslmode=disable', ...env })
    expect(own.databaseUrl).toBe('postgres://h1/db?sslmode=disable')
  })

  test('is named without its password', () => {
    expect(readAddress('postgres://ada:secret@h1:5433,h2/db')).toMatchObject({ place: 'h1:5433,h2/db' })
  })

  test('of a server behind a pooler needs the URL of the pooler', () => {
    expect(() => loadConfig({ DATABASE_DIRECT_URL: 'postgres://h1/db' })).toThrow(/^DATABASE_URL is not set/)
    const pooled = { DATABASE_URL: 'postgres://pooler/db', DATABASE_DIRECT_URL: 'postgres://h1/db' }
    expect(loadConfig(pooled).databasePrepare).toBe(false)
    expect(loadConfig({ ...pooled, DATABASE_PREPARE: 'true' }).databasePrepare).toBe(true)
  })
})

/** These keep something that outlives a transaction, on connections that bypass a pooler. */
const DIRECT = [
  'src/access/identity/credential-cache.ts',
  'src/platform/db/listener.ts',
  'src/platform/db/migrate-indexes.ts',
  'src/platform/embedded/session.ts',
]
const KEPT = [
  /\blisten \$\{|(sql|pool|listening)\.(listen|reserve)\(/,
  /\bpg_(try_)?advisory_(un)?lock(_shared)?\(|set_config\([^)]*,\s*false\)/,
  /\bcreate (local |global )?temp(orary)? |\bcursor with hold/i,
  /`\s*(set session|set [a-z_.]+ (=|to)|prepare \w+|deallocate|discard) /i,
]

test('only connections that bypass a pooler keep state between transactions', () => {
  const sources = ['src', 'workers', 'sql'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  const keeping = sources
    .filter((name) => /\.(ts|sql)$/.test(name))
    .filter((name) => KEPT.some((pattern) => pattern.test(readFileSync(join(ROOT, name), 'utf8'))))
  expect(keeping.sort()).toEqual(DIRECT)
})
