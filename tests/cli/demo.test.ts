/** `earshot demo` as a program: data for every page of the console, removable without a trace. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { EARSHOT } from '../support/executable.ts'
import { createRecord, createSource, putPerson } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

/** The analysis of the whole demo takes a quarter of a minute on a quiet machine. */
setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
let server: TestServer
let folder: string
let before: Awaited<ReturnType<typeof dump>>
let loaded: { readonly organizationId: string; readonly signInUrl: string; readonly analysed: boolean }
let key: Client

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-demo-'))
  server = await startTestServer({ actors: true, env: { DATA_DIR: folder } })
  await storeOwnData()
  before = await dump()
})
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** What the operator has: it must not change. One of the people has the address of a customer of the demo. */
async function storeOwnData(): Promise<void> {
  const agent = await openAgent(server)
  const own = server.as({ apiKey: agent.tenant.apiKey })
  await putPerson(own, { email: 'marcus@bellandsons.example', first_name: 'Another' })
  await createRecord(own, await createSource(own))
  await agent.accept([userMessage(1, { content: 'The export fails.' }), assistantMessage(2)], {
    externalSessionId: 'own',
    status: 'ended',
  })
  await eventually(async () => {
    const [row] = await server.database.sql`select count(*)::int as count from actor_message`
    const { body } = await own.get('/v3/rest/search?q=export')
    return row?.count === 0 && body.data.length === 1
  })
  // Otherwise these would be folded into counts, and filed under themes, while the demo is loaded.
  const tasks = server.features.maintenance.filter(({ name }) => ['fold_counts', 'themes'].includes(name))
  await eventually(async () => {
    for (const { run } of tasks) await run(new AbortController().signal)
    const [row] = await server.database.sql`
      select
        (select count(*) from insight_count_change)::int
        + (select count(*) from theme_change)::int
        + (select count(*) from actor_message)::int as count`
    return row?.count === 0
  })
}

/** Every row of every table but those of workers and their periodic tasks, and every file of the object store. */
async function dump() {
  const { sql } = server.database
  const tables = await sql<{ name: string }[]>`
    select relname::text as name
    from pg_class
    where relkind = 'r'
      and relnamespace = 'public'::regnamespace
      and relname not in ('worker', 'maintenance')
    order by 1`
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const texts = await sql<{ text: string }[]>`select t::text as text from ${sql(name)} t`
      return [name, texts.map(({ text }) => text).sort()] as const
    }),
  )
  return { rows: Object.fromEntries(rows), files: filesIn(join(folder, 'media')) }
}

const filesIn = (path: string) =>
  (existsSync(path) ? readdirSync(path, { recursive: true, withFileTypes: true }) : [])
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()

function start(...args: readonly string[]) {
  return Bun.spawn([...EARSHOT, ...args, '--json'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: folder, DATABASE_URL: server.database.url },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

async function run(...args: readonly string[]) {
  const child = start(...args)
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, err, json: JSON.parse(out) }
}

test('loads data, waits for the analysis and prints a link to the console', async () => {
  const { code, err, json } = await run('demo')
  expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' })
  expect(json).toMatchObject({
    analysed: true,
    calls: 6,
    signInUrl: expect.stringContaining('to=%2Fconsole'),
  })
  expect(json.conversations).toBe(200)
  loaded = json
  const made = await run('api-key', 'create', '--org', loaded.organizationId)
  key = server.as({ apiKey: made.json.apiKey })
})

test('every page of the console has something to show', async () => {
  const list = async (path: string) => (await key.get(`/v3/rest/${path}`)).body.data
  const [rising, ...others] = await list('themes?sort=rising')
  expect(rising).toMatchObject({ title: expect.stringMatching(/photo/i), trend: { rising: true } })
  expect(others.length).toBeGreaterThan(5)
  expect(others.map(({ title }: { title: string }) => title)).not.toContain('Various')
  for (const kind of ['bug_report', 'feature_request', 'question', 'praise', 'complaint'])
    expect([kind, (await list(`signals?kind=${kind}`)).length > 0]).toEqual([kind, true])
  const outcomes = await list('insights/counts?metric=outcomes&by=outcome')
  expect(outcomes.map(({ outcome }: { outcome: string }) => outcome).sort()).toEqual([
    'resolved',
    'unclear',
    'unresolved',
  ])
  const { data: calls } = (await key.get('/v3/rest/recordings')).body
  const call = (await key.get(`/v3/rest/recordings/${calls[0].id}`)).body
  expect(call).toMatchObject({ asset: { status: 'completed' }, transcript: { status: 'completed' } })
  const sources = await list('feedback-sources')
  expect(sources.length).toBe(4)
  expect((await list('search?q=photos')).length).toBeGreaterThan(5)
})

test('a person is heard on several channels', async () => {
  const [marcus] = (await key.get('/v3/rest/people?email=marcus@bellandsons.example')).body.data
  const timeline = (await key.get(`/v3/rest/people/${marcus.uuid}/timeline`)).body.data
  const channels = new Set(timeline.map(({ channel }: { channel: string }) => channel))
  expect(channels).toEqual(new Set(['conversation', 'feedback', 'recording']))
})

interface StoredEvent {
  readonly sequence: number
  readonly revision: number
  readonly type: string
}

test('conversations have a corrected answer, a gap, ratings and open ends', async () => {
  const sessions = (await key.get('/v3/rest/agent-conversations/sessions?limit=100')).body.data
  expect(sessions.filter(({ status }: { status: string }) => status === 'open').length).toBeGreaterThan(1)
  const details: readonly (readonly StoredEvent[])[] = await Promise.all(
    sessions.map(async ({ id }: { id: string }) => {
      const { body } = await key.get(`/v3/rest/agent-conversations/sessions/${id}`)
      return body.events.data
    }),
  )
  expect(details.some((events) => events.some(({ revision }) => revision === 2))).toBe(true)
  expect(details.some((events) => events.some(({ type }) => type === 'feedback'))).toBe(true)
  expect(details.some((events) => (events.at(-1)?.sequence ?? 0) > events.length)).toBe(true)
})

test('a second call loads nothing, and prints another link', async () => {
  const { json } = await run('demo')
  expect(json.organizationId).toBe(loaded.organizationId)
  expect(json.signInUrl).not.toBe(loaded.signInUrl)
})

test('commands without --org go on meaning the organization of the operator', async () => {
  const { code, json } = await run('user', 'list')
  expect(code).toBe(0)
  expect(json.organizationId).not.toBe(loaded.organizationId)
})

test('--remove leaves no row and no file', async () => {
  expect((await run('demo', '--remove')).json).toEqual({
    removed: true,
    organizationId: loaded.organizationId,
  })
  const after = await dump()
  expect(after.files).toEqual(before.files)
  expect(after.rows).toEqual(before.rows)
  expect((await run('demo', '--remove')).json).toEqual({ removed: false })
})

test('an interrupted load is removed as well', async () => {
  const child = start('demo')
  await eventually(async () => {
    const [row] = await server.database.sql`
      select count(*)::int as count
      from agent_session s
      join organization o on o.id = s.organization_id
      where o.is_demo`
    return (row?.count ?? 0) > 5
  })
  child.kill('SIGINT')
  expect(await child.exited).toBe(130)
  expect((await run('demo', '--remove')).json.removed).toBe(true)
  expect((await dump()).rows).toEqual(before.rows)
})
