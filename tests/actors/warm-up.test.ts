/** The warm-up conversation of a process prepares statements and leaves no row. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  // The pool has only as many connections as are warmed up, so every query uses one of them.
  server = await startTestServer({ env: { DATABASE_POOL_SIZE: '2' } })
})
afterAll(() => server.stop())

async function rowsByTable(): Promise<Readonly<Record<string, number>>> {
  const { sql } = server.database
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`
  const counts = tables.map(async ({ name }) => {
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from ${sql(name)}`
    return [name, row?.count ?? -1] as const
  })
  return Object.fromEntries(await Promise.all(counts))
}

async function prepared(part: string): Promise<number> {
  const rows = await server.deps.sql`
    select 1 from pg_prepared_statements where strpos(regexp_replace(statement, '\\s+', ' ', 'g'), ${part}) > 0`
  return rows.length
}

const OF_REQUESTS = ['insert into agent_event (', 'insert into agent_session as s (']
const OF_TURNS = [
  'update actor_mailbox a set owner =',
  'insert into agent_signal (',
  'insert into agent_response (',
  'delete from actor_message m',
  'update agent_response r set state =',
]

test('a warm-up of requests prepares the statements that store a request, and leaves nothing behind', async () => {
  const before = await rowsByTable()
  for (const statement of OF_REQUESTS) expect(await prepared(statement)).toBe(0)
  await server.features.warmUp.requests()
  for (const statement of OF_REQUESTS)
    expect({ statement, ready: (await prepared(statement)) > 0 }).toEqual({ statement, ready: true })
  expect(await rowsByTable()).toEqual(before)
})

test('a warm-up of turns prepares the statements of a turn and of an analysis, and leaves nothing behind', async () => {
  const before = await rowsByTable()
  for (const statement of OF_TURNS) expect(await prepared(statement)).toBe(0)
  await server.features.warmUp.turns()
  for (const statement of OF_TURNS)
    expect({ statement, ready: (await prepared(statement)) > 0 }).toEqual({ statement, ready: true })
  expect(await rowsByTable()).toEqual(before)
})
