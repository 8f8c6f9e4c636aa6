/** `earshot agent-session` as a program against a started service: detection, resuming, flat memory, list, delete. */

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { SESSIONS } from '../support/coding-sessions.ts'
import { type CountingProxy, startCountingProxy } from '../support/counting-proxy.ts'
import { EARSHOT } from '../support/executable.ts'
import { writeLongSession } from '../support/long-session.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const ROOT = resolve(import.meta.dir, '../..')
const FIXTURES = resolve(ROOT, 'tests/fixtures/coding-sessions')
const MIB = 1024 * 1024

let server: TestServer
let proxy: CountingProxy
let folder: string
let tenant: { readonly apiKey: string; readonly userToken: string }
const folders: string[] = []

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  proxy = await startCountingProxy(server.baseUrl)
})
beforeEach(async () => {
  proxy.release()
  tenant = await server.createTenant()
  folder = mkdtempSync(join(tmpdir(), 'earshot-session-'))
  folders.push(folder)
})
afterAll(async () => {
  await proxy?.stop()
  await server?.stop()
  for (const path of folders) rmSync(path, { recursive: true })
})

function start(args: readonly string[]) {
  const child = Bun.spawn([...EARSHOT, 'agent-session', ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      EARSHOT_URL: proxy.url,
      EARSHOT_USER_TOKEN: tenant.userToken,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const all = [new Response(child.stdout).text(), new Response(child.stderr).text()] as const
  const result = Promise.all([child.exited, ...all]).then(([code, out, err]) => ({ code, out, err }))
  return { child, result }
}

const run = (...args: readonly string[]) => start(args).result

async function uploadJson(...args: readonly string[]) {
  const { code, out, err } = await run('upload', ...args, '--json')
  return { code, err, uploads: out === '' ? [] : JSON.parse(out).uploads }
}

const copy = (name: string) => {
  const path = join(folder, name)
  copyFileSync(join(FIXTURES, name), path)
  return path
}

describe('earshot agent-session upload', () => {
  test('stores files of every agent, whose formats it finds, and prints the counts', async () => {
    const files = ['claude-code.jsonl', 'codex.jsonl', 'gemini-cli.jsonl', 'gemini-cli.json'].map(copy)
    const { code, err, uploads } = await uploadJson(...files, '--repo', 'shop')
    expect({ code, err }).toEqual({
      code: 0,
      err: 'claude-code.jsonl: stored\ncodex.jsonl: stored\ngemini-cli.jsonl: stored\ngemini-cli.json: stored\n',
    })
    expect(
      uploads.map(({ status, session }: never) => [status, (session as { agent: string }).agent]),
    ).toEqual([
      ['stored', 'claude-code'],
      ['stored', 'codex'],
      ['stored', 'gemini-cli'],
      ['stored', 'gemini-cli'],
    ])
    const { body } = await server
      .as({ userToken: tenant.userToken })
      .get(`${SESSIONS}/${uploads[0].session.sessionId}`)
    expect(body).toMatchObject({ repo: 'shop', eventCount: 14 })
    const { out } = await run('upload', files[1] as string)
    expect(out).toMatch(/agent +codex\nevents +15, 15 of this file were known\nmessages +6\n/)
  })

  test('a second time adds nothing, a longer file adds its tail', async () => {
    const file = copy('claude-code-fork.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, lines.slice(0, 8).join('\n'))
    const [first] = (await uploadJson(file)).uploads
    const [second] = (await uploadJson(file)).uploads
    expect(second.session).toEqual({ ...first.session, deduplicatedEventCount: first.session.eventCount })
    appendFileSync(file, `\n${lines.slice(8).join('\n')}`)
    const [third] = (await uploadJson(file)).uploads
    expect(third.session.sessionId).toBe(first.session.sessionId)
    expect(third.session).toMatchObject({ eventCount: 8, deduplicatedEventCount: first.session.eventCount })
  })

  test('resumes where an interrupted command stopped', async () => {
    const file = join(folder, 'long.jsonl')
    const turns = writeLongSession(file, 24 * MIB)
    const held = proxy.holdAfter(12 * MIB)
    const { child, result } = start(['upload', file])
    await held
    child.kill('SIGKILL')
    await result
    proxy.release()
    const before = proxy.forwarded
    const { code, uploads } = await uploadJson(file)
    expect(code).toBe(0)
    expect(proxy.forwarded - before).toBeLessThan(20 * MIB)
    expect(uploads[0].session).toMatchObject({ deduplicatedEventCount: 0, eventCount: 3 * turns })
    const rows = await server.database.sql`select phase from upload where file_name = 'long.jsonl'`
    expect(rows.map(({ phase }) => phase)).toEqual(['ready'])
  })

  test('sends nothing of a file that is of no known format', async () => {
    const file = join(folder, 'notes.txt')
    writeFileSync(file, 'hello\n')
    const { code, err } = await run('upload', file)
    expect({ code, err }).toMatchObject({
      code: 2,
      err: expect.stringContaining('not a session file of a known agent'),
    })
    expect((await run('upload', file, '--format', 'cobol')).code).toBe(2)
    const failed = await uploadJson(file, '--format', 'codex')
    expect(failed).toMatchObject({
      code: 1,
      uploads: [{ status: 'failed', error: { code: 'coding_session_empty' } }],
    })
  })

  test('associates the session with a project', async () => {
    const client = server.as({ userToken: tenant.userToken })
    const project = await client.post('/v3/rest/projects', { name: 'Shop' })
    const { uploads } = await uploadJson(copy('codex.jsonl'), '--project', project.body.publicId)
    const { body } = await client.get(`/v3/rest/projects/${project.body.publicId}/agent-sessions`)
    expect(body.data).toMatchObject([{ sessionId: uploads[0].session.sessionId }])
  })
})

describe('earshot agent-session', () => {
  test('lists sessions and deletes one', async () => {
    const { uploads } = await uploadJson(copy('codex.jsonl'), '--title', 'Limits')
    const { sessionId } = uploads[0].session
    expect((await run('list')).out).toContain(`${sessionId}  codex  Limits`)
    expect(await run('delete', sessionId)).toMatchObject({ code: 0, out: `deleted ${sessionId}\n` })
    expect((await run('list')).out).toBe('no sessions\n')
    expect((await run('delete', sessionId)).code).toBe(2)
  })
})
