/** `earshot conversations import` as a program against a started service: files in, conversations stored, refused rows reported. */

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runCommand } from '../support/command-line.ts'
import { type CountingProxy, startCountingProxy } from '../support/counting-proxy.ts'
import { EARSHOT } from '../support/executable.ts'
import { startTestServer, type TestApplication, type TestServer } from '../support/server.ts'

/** Calls are processes of their own, but for those that are refused. */
setDefaultTimeout(120_000)

const ROOT = resolve(import.meta.dir, '../..')
const KIB = 1024

let server: TestServer
let proxy: CountingProxy
let folder: string
let application: TestApplication

beforeAll(async () => {
  server = await startTestServer()
  proxy = await startCountingProxy(server.baseUrl)
  folder = mkdtempSync(join(tmpdir(), 'earshot-conversations-'))
})
beforeEach(async () => {
  proxy.release()
  const tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId)
})
afterAll(async () => {
  await proxy?.stop()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const words = (path: string, flags: readonly string[]) => [
  'conversations',
  'import',
  path,
  ...flags,
  '--json',
]

const environment = () => ({
  PATH: process.env.PATH ?? '',
  EARSHOT_URL: proxy.url,
  EARSHOT_AGENT_KEY: application.agentKey,
  EARSHOT_SECRET: application.agentSecret,
})

function start(path: string, ...flags: readonly string[]) {
  return Bun.spawn([...EARSHOT, ...words(path, flags)], {
    cwd: ROOT,
    env: environment(),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

async function run(path: string, ...flags: readonly string[]) {
  const child = start(path, ...flags)
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, err, json: out === '' ? null : JSON.parse(out) }
}

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

/** Everything that is stored of the application's conversations, in order. */
const stored = async () => [
  ...(await server.database.sql`
    select s.external_session_id as session, s.status, e.sequence::int as sequence, e.revision::int as revision,
      e.external_event_id as id, e.type, e.occurred_at as at, e.body
    from agent_session s join agent_event e on e.session_id = s.id
    where s.application_id = ${application.applicationId}
    order by s.external_session_id, e.sequence`),
]

const TWO = `conversation,id,time,role,content,email,rating,comment
c1,m1,2026-01-05T09:00:00Z,user,"Where, please?",Ada@x.example,,
c2,m1,2026-01-05T09:00:10Z,Customer,Hello,,,
c1,m2,2026-01-05T09:00:20Z,assistant,Here.,,positive,Quick!
c2,m2,2026-01-05T09:00:30Z,agent,Hello.,,,
`

describe('CSV', () => {
  test('rows become the messages of their conversations, in the order of the file', async () => {
    const { code, json } = await run(file('two.csv', TWO))
    expect({ code, json }).toMatchObject({
      code: 0,
      json: { rows: 4, imported: 5, duplicates: 0, revised: 0, refused: 0, dryRun: false },
    })
    const rows = await stored()
    expect(rows.map(({ session, sequence, type, status }) => [session, sequence, type, status])).toEqual([
      ['c1', 1, 'user_message', 'ended'],
      ['c1', 2, 'assistant_message', 'ended'],
      ['c1', 3, 'feedback', 'ended'],
      ['c2', 1, 'user_message', 'ended'],
      ['c2', 2, 'assistant_message', 'ended'],
    ])
    expect(rows[0]).toMatchObject({
      at: new Date('2026-01-05T09:00:00Z'),
      body: { content: 'Where, please?', participantExternalId: 'ada@x.example' },
    })
    expect(rows[2]?.body).toMatchObject({
      feedback: { targetEventExternalId: 'm2', rating: 'positive', comment: 'Quick!' },
    })
  })

  test('--map names columns, --role names words, --open leaves conversations open, --environment names it', async () => {
    const path = file('map.csv', 'Ticket;When;Who;Text;content\nt1;2026-01-05T09:00:00Z;Kunde;Hallo;no\n')
    const maps = ['Ticket=conversation', 'When=time', 'Who=role', 'Text=content'].flatMap((map) => [
      '--map',
      map,
    ])
    const flags = ['--delimiter', ';', '--role', 'kunde=user', '--open', '--environment', 'test']
    const { code, json } = await run(path, ...maps, ...flags)
    expect({ code, imported: json.imported }).toEqual({ code: 0, imported: 1 })
    expect(await stored()).toMatchObject([
      { session: 't1', status: 'open', type: 'user_message', body: { content: 'Hallo' } },
    ])
    const [session] = await server.database.sql`
      select context from agent_session where application_id = ${application.applicationId}`
    expect(session?.context).toEqual({ environment: 'test' })
  })

  test('a bad row is reported by line and reason, and the others go in', async () => {
    const lines = [
      'conversation,id,time,role,content,rating',
      'c1,m1,2026-02-30T09:00:00Z,user,no such day,',
      'c1,,,user,nothing to recognise it by,',
      'c1,m3,,somebody,who?,',
      'c1,m4,,user,good,',
      'c1,m5,,user,rated,positive',
      'c1,m6,,assistant,answer,great',
      'c1,m7,,user,,',
      ',m8,,user,of no conversation,',
      `c1,${'x'.repeat(600)},,user,long id,`,
      'c1,m10,,assistant,fine,negative',
    ]
    const report = join(folder, 'report.csv')
    const { code, json } = await run(file('bad.csv', lines.join('\n')), '--report', report)
    expect({ code, json }).toMatchObject({ code: 1, json: { rows: 10, imported: 3, refused: 8 } })
    expect(json.refusedRows.map(({ line, reason }: Refused) => `${line} ${reason}`)).toEqual([
      expect.stringMatching(/^2 column "time": must be a time such as 2026/),
      expect.stringMatching(/^3 has neither an id nor a time/),
      expect.stringMatching(/^4 column "role": must be user or assistant/),
      '6 column "rating": belongs to a message of the assistant',
      expect.stringMatching(/^7 column "rating": must be/),
      '8 column "content": is required',
      expect.stringMatching(/^9 column "conversation": /),
      '10 column "id": must have at most 512 characters',
    ])
    expect(readFileSync(report, 'utf8').split('\r\n')).toHaveLength(10)
    expect((await stored()).map(({ id, type }) => [type, id.length > 10 || id])).toEqual([
      ['user_message', 'm4'],
      ['assistant_message', 'm10'],
      ['feedback', true],
    ])
  })

  test('a row that only the service can refuse is reported, and the others of its request go in', async () => {
    await run(file('first.csv', 'conversation,id,role,content\nc1,m1,user,a\n'))
    const lines = [
      'conversation,id,role,content',
      'c1,m0,user,b',
      'c1,m1,assistant,other type',
      'c1,m2,user,c',
    ]
    const { code, json } = await run(file('second.csv', lines.join('\n')))
    expect({ code, json }).toMatchObject({ code: 1, json: { rows: 3, imported: 2, refused: 1 } })
    expect(json.refusedRows).toEqual([{ line: 3, reason: expect.stringContaining('(m1)') }])
    expect((await stored()).map(({ id }) => id)).toEqual(['m1', 'm0', 'm2'])
  })
})

interface Refused {
  readonly line: number
  readonly reason: string
}

describe('JSON Lines', () => {
  test('lines are messages, or whole conversations of any length', async () => {
    const events = Array.from({ length: 1201 }, (_, n) => ({
      type: 'user_message',
      content: `again ${n % 3}`,
    }))
    const lines = [
      { conversation: 7, id: 1, role: 'user', content: [{ type: 'text', text: 'structured' }], person: 12 },
      { externalSessionId: 'long', status: 'abandoned', context: { productArea: 'billing' }, events },
      { externalSessionId: 'bad', events: [{ type: 'user_message', content: 'a', occurredAt: 'yesterday' }] },
      { conversation: '7', id: 2, role: 'assistant', content: 'answer' },
    ]
    const path = file('a.jsonl', lines.map((line) => JSON.stringify(line)).join('\n'))
    const { code, json } = await run(path)
    expect({ code, json }).toMatchObject({ code: 1, json: { rows: 4, imported: 1203, refused: 1 } })
    expect(json.refusedRows).toEqual([{ line: 3, reason: expect.stringContaining('events[0].occurredAt') }])
    const rows = await stored()
    expect(rows.filter(({ session }) => session === '7').map(({ id }) => id)).toEqual(['1', '2'])
    expect(rows.filter(({ session }) => session === 'long')).toHaveLength(1201)
    expect(rows.find(({ session }) => session === 'long')).toMatchObject({ status: 'abandoned' })
    expect((await run(path)).json).toMatchObject({ imported: 0, duplicates: 1203, revised: 0 })
    expect(await stored()).toEqual(rows)
  })
})

describe('again', () => {
  const text = 'How do I change the address of the invoice? '.repeat(8)
  const many = (rows: number) =>
    `conversation,id,time,role,content\n${Array.from({ length: rows }, (_, n) => {
      // Every third row has no id. Rows of several conversations alternate.
      const at = new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()
      const conversation = `c${Math.floor(n / 40)}-${n % 4}`
      return `${conversation},${n % 3 === 0 ? '' : `m${n}`},${at},${n % 8 < 4 ? 'user' : 'assistant'},${text}${n % 5}\n`
    }).join('')}`

  test('a second import adds and changes nothing', async () => {
    const path = file('twice.csv', many(300))
    expect((await run(path)).json).toMatchObject({ imported: 300, duplicates: 0 })
    const before = await stored()
    const { code, json } = await run(path)
    expect({ code, json }).toMatchObject({ code: 0, json: { imported: 0, duplicates: 300, revised: 0 } })
    expect(await stored()).toEqual(before)
  })

  test('a longer file adds its new rows; a changed text is a revision in its place', async () => {
    await run(file('grows.csv', 'conversation,id,role,content\nc1,m1,user,a\nc1,m2,assistant,b\n'))
    const longer = 'conversation,id,role,content\nc1,m1,user,a\nc1,m2,assistant,B\nc1,m3,user,c\n'
    expect((await run(file('grows.csv', longer))).json).toMatchObject({
      imported: 1,
      duplicates: 1,
      revised: 1,
    })
    expect((await stored()).map(({ id, sequence, body }) => [id, sequence, body.content])).toEqual([
      ['m1', 1, 'a'],
      ['m2', 2, 'B'],
      ['m3', 3, 'c'],
    ])
  })

  test('killed in the middle and started again, it stores what one import stores', async () => {
    const ROWS = 4_000
    const path = file('killed.csv', many(ROWS))
    const held = proxy.holdAfter(512 * KIB)
    const child = start(path)
    await held
    child.kill('SIGKILL')
    await child.exited
    proxy.release()
    const before = (await stored()).length
    expect(before).toBeWithin(100, ROWS - 100)
    const { code, json } = await run(path)
    expect({ code, json }).toMatchObject({ code: 0, json: { rows: ROWS, revised: 0, refused: 0 } })
    expect(json.imported + json.duplicates).toBe(ROWS)
    expect(json.duplicates).toBeGreaterThanOrEqual(before)
    const after = await stored()
    const other = await server.createApplication((await server.createTenant()).organizationId)
    application = other
    expect((await run(path)).json.imported).toBe(ROWS)
    expect(after).toEqual(await stored())
  })

  test('a cut connection and a lost answer are survived', async () => {
    proxy.cutAfter(100_000)
    proxy.swallowAnswer()
    const { code, json, err } = await run(file('cut.csv', many(800)))
    expect(err).toContain('again in')
    expect({ code, json }).toMatchObject({ code: 0, json: { rows: 800, refused: 0 } })
    expect(await stored()).toHaveLength(800)
  })

  test('--dry-run checks every row, sends nothing and needs no secret', async () => {
    const { code, json } = await run(file('dry.csv', `${TWO}c3,m1,,nobody,x,,,\n`), '--dry-run')
    expect({ code, json }).toMatchObject({ code: 1, json: { rows: 5, refused: 1, dryRun: true } })
    expect(await stored()).toEqual([])
  })
})

describe('a mistake is one line and stores nothing', () => {
  test.each([
    [2, 'missing.csv', [], 'there is no file'],
    [2, 'a.csv', ['--map', 'x=y'], 'must have a meaning of conversation'],
    [2, 'a.csv', ['--map', 'x=id'], 'column "x" is not in the file'],
    [2, 'b.csv', [], 'no column is the role'],
    [2, 'a.csv', ['--role', 'x=Y'], 'must be user, assistant or a type'],
    [2, 'a.csv', ['--secret', 'ä'], 'the secret does not have the form of a credential'],
    [1, 'a.csv', ['--secret', 'wrong'], 'the server answered 401'],
    [1, 'a.csv', ['--agent-key', 'another'], 'the server answered 4'],
  ])('%p %p %p', async (expected, name, flags, message) => {
    file('a.csv', TWO)
    file('b.csv', 'conversation,content\nc,x\n')
    const { code, err } = await runCommand(words(join(folder, name), flags), environment())
    expect(code).toBe(expected)
    expect(err).toContain(message)
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(await stored()).toEqual([])
  })
})
