/** PostgreSQL URLs are read as libpq reads them, and nothing keeps state in a connection that a pooler may give to another. */
import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { loadConfig } from '../../src/config.ts'
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
  ])('%s', (url, hosts, ports) => {
    expect(readAddress(url)).toMatchObject({ hosts, ports })
  })

  test.each([
    'postgres://h1:0/db',
    'postgres://h1:65536,h2/db',
    'postgres://h1:a/db',
    'http://h1/db',
    'h1',
    'postgres://ada:12/34@h1/db',
    'postgres://ada:12?34@h1/db',
    'postgres://ada:12#34@h1/db',
  ])('%s is refused without being repeated', (url) => {
    expect(readAddress(url)).toBeNull()
    expect(() => loadConfig({ DATABASE_URL: url })).toThrow(
      /^DATABASE_URL is \(value hidden\), but must be a URL/,
    )
  })

  test('is named without its password', () => {
    expect(readAddress('postgres://ada:secret@h1:5433,h2/db')?.place).toBe('h1:5433,h2/db')
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
  'src/identity/credential-cache.ts',
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
