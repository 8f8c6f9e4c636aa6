/**
 * A PostgreSQL database for one test file, cloned from a migrated template (a clone takes about 50 ms).
 *
 * `TEST_DATABASE_URL` names a server on which databases can be created, and `TEST_REDIS_URL` a Redis. The check script
 * starts both and sets the variables. A file that runs alone uses the servers that you set by hand.
 */
import { MIGRATIONS } from '../../sql/migrations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { connect, type Sql } from '../../src/platform/db/pool.ts'

const TEMPLATE_LOCK = 0x74_65_73_74

export interface TestDatabase {
  readonly url: string
  readonly sql: Sql
  drop(): Promise<void>
}

/** @throws Error if the check script did not name a server */
export function testServer(name: 'TEST_DATABASE_URL' | 'TEST_REDIS_URL'): string {
  const url = process.env[name]
  if (url === undefined) throw new Error(`${name} is not set: run the tests with "bun run check"`)
  return url
}

/** Creates a migrated database; with `migrated: false` an empty one. `server`: default that of the check. */
export async function createTestDatabase(
  options: { readonly migrated?: boolean; readonly server?: string | undefined } = {},
): Promise<TestDatabase> {
  const server = options.server ?? testServer('TEST_DATABASE_URL')
  const admin = connect({ url: server }, { max: 1, applicationName: 'test-admin' })
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  const template = options.migrated === false ? 'template0' : await ensureTemplate(admin, server)
  // Copies files, because logging each page in WAL takes three times the CPU.
  await admin.unsafe(`create database ${name} template ${template} strategy file_copy`)
  const url = withDatabase(server, name)
  const sql = connect({ url }, { max: 5, applicationName: 'test' })
  return {
    url,
    sql,
    async drop() {
      await sql.end({ timeout: 5 })
      await admin.unsafe(`drop database if exists ${name} with (force)`)
      await admin.end({ timeout: 5 })
    },
  }
}

/** The template is named after the migrations, so a changed migration creates a new template. */
async function ensureTemplate(admin: Sql, server: string): Promise<string> {
  const digest = new Bun.CryptoHasher('sha256')
    .update(MIGRATIONS.map((migration) => migration.source).join('\0'))
    .digest('hex')
  const name = `template_${digest.slice(0, 16)}`
  await admin`select pg_advisory_lock(${TEMPLATE_LOCK})`
  try {
    const [exists] = await admin`select 1 from pg_database where datname = ${name} and not datistemplate`
    const [ready] = await admin`select 1 from pg_database where datname = ${name} and datistemplate`
    if (ready) return name
    if (exists) await admin.unsafe(`drop database ${name} with (force)`)
    await admin.unsafe(`create database ${name} template template0`)
    const sql = connect({ url: withDatabase(server, name) }, { max: 1, applicationName: 'test-template' })
    await migrate(sql, MIGRATIONS)
    await sql.end({ timeout: 5 })
    // Marked as a template only when complete. The next process that finds an incomplete one drops it.
    await admin.unsafe(`alter database ${name} is_template true`)
    return name
  } finally {
    await admin`select pg_advisory_unlock(${TEMPLATE_LOCK})`
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}
