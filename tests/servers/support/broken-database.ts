/** PostgreSQL as it stops a service. */
import { setSystemTime } from 'bun:test'
import { join } from 'node:path'
import { connect } from '../../../src/platform/db/pool.ts'
import { freePort, startPrivatePostgres } from '../../crash/support/private-postgres.ts'
import { fill, mountSmallDisk, unmount } from '../../crash/support/small-disk.ts'
import { createTestDatabase, testServer } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import type { SetUp, Undo } from './set-up.ts'

const HOURS_AHEAD = 2

async function withServer(url: string, ...statements: readonly string[]): Promise<void> {
  const sql = connect({ url }, { max: 1, applicationName: 'test-server' })
  for (const statement of statements) await sql.unsafe(statement)
  await sql.end({ timeout: 1 })
}

/** A database with a role that has no rights but those that `statements` give to it. @returns the URL of the role */
async function asRole(undo: (work: Undo) => void, statements: (role: string, database: string) => string[]) {
  const database = await createTestDatabase()
  const url = new URL(database.url)
  const role = `role_${url.pathname.slice(6)}`
  undo(async () => {
    await database.drop()
    await withServer(testServer('TEST_DATABASE_URL'), `drop role ${role}`)
  })
  await withServer(database.url, `create role ${role} login`, ...statements(role, url.pathname.slice(1)))
  undo(() => withServer(database.url, `drop owned by ${role}`))
  url.username = role
  return url.href
}

/** A server whose disk is full. @returns its URL */
export async function startFullServer(
  undo: (work: Undo) => void,
  prepare: (url: string) => Promise<unknown> = async () => {},
): Promise<string> {
  const disk = mountSmallDisk('256m') as string
  undo(() => unmount(disk))
  const { TMPDIR } = process.env
  process.env.TMPDIR = disk
  try {
    const server = await startPrivatePostgres(freePort())
    undo(() => server.stop())
    await prepare(server.url)
    fill(join(disk, 'ballast'))
    return server.url
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}

const server = () => new URL(testServer('TEST_DATABASE_URL'))

export const brokenDatabases = (canMount: boolean): readonly SetUp[] => [
  {
    name: 'Nothing listens at the host and port of `DATABASE_URL`',
    check: 'database',
    begin: async () => ({ DATABASE_URL: 'postgres://ada@127.0.0.1:1/db' }),
  },
  {
    name: 'The host of `DATABASE_URL` has no address',
    check: 'database',
    begin: async () => ({ DATABASE_URL: 'postgres://ada@nothing.invalid/db' }),
  },
  {
    name: 'The password of `DATABASE_URL` is wrong',
    check: 'database',
    async begin(undo) {
      const { url, stop } = await startPrivatePostgres(freePort())
      undo(stop)
      await withServer(
        url,
        `create role ada login password 'right'`,
        `copy (select 'host all ada 127.0.0.1/32 scram-sha-256' union all select 'host all postgres 127.0.0.1/32 trust')
         to program 'cat > pg_hba.conf'`,
        'select pg_reload_conf()',
      )
      const wrong = new URL(url)
      wrong.username = 'ada'
      wrong.password = 'wrong'
      await eventually(async () => {
        const failure = await withServer(wrong.href, 'select 1').then(
          () => null,
          (error) => error,
        )
        if (failure?.code !== '28P01') throw new Error('the server has not read its settings yet')
      })
      return { DATABASE_URL: wrong.href }
    },
  },
  {
    name: 'The database of `DATABASE_URL` does not exist',
    check: 'database',
    async begin() {
      const url = server()
      url.pathname = '/nothing'
      return { DATABASE_URL: url.href }
    },
  },
  {
    name: 'PostgreSQL offers no TLS, but `sslmode` requires it',
    check: 'database',
    begin: async () => ({ DATABASE_URL: `${server().href}?sslmode=require` }),
  },
  {
    name: 'PostgreSQL has no connection left for the role',
    check: 'database',
    begin: async (undo) => ({
      DATABASE_URL: await asRole(undo, (role) => [`alter role ${role} connection limit 0`]),
    }),
  },
  {
    name: 'PostgreSQL takes no writes',
    check: 'database',
    begin: async (undo) => ({
      DATABASE_URL: await asRole(undo, (role) => [
        `alter role ${role} set default_transaction_read_only = on`,
      ]),
    }),
  },
  {
    name: 'The disk of PostgreSQL is full',
    check: 'database',
    skip: !canMount,
    begin: async (undo) => ({ DATABASE_URL: await startFullServer(undo) }),
  },
  {
    name: 'The clock of the machine is wrong',
    check: 'clock',
    async begin(undo) {
      setSystemTime(new Date(Date.now() + HOURS_AHEAD * 3_600_000))
      undo(() => setSystemTime())
      return {}
    },
  },
  {
    name: 'The schema was never migrated',
    check: 'schema',
    async begin(undo) {
      const database = await createTestDatabase({ migrated: false })
      undo(() => database.drop())
      return { DATABASE_URL: database.url }
    },
  },
  {
    name: 'The role may not read the tables',
    check: 'schema',
    begin: async (undo) => ({ DATABASE_URL: await asRole(undo, () => []) }),
  },
  {
    name: 'The role may read the tables, but not write them',
    check: 'schema',
    begin: async (undo) => ({
      DATABASE_URL: await asRole(undo, (role) => [`grant select on all tables in schema public to ${role}`]),
    }),
  },
  {
    name: 'No process works',
    check: 'workers',
    begin: async () => ({}),
  },
]
