/** The TypeScript SDK against the real service: what arrives, and what it costs the application. */
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Earshot,
  type EarshotError,
  EarshotReader,
  type Message,
  uploadFile,
} from '../../sdk/typescript/src/index.ts'
import { timeOf } from '../../sdk/typescript/src/messages.rules.ts'
import { setQuotas } from '../../src/access/quotas/service.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let application: TestApplication
let folder: string
const clients: Earshot[] = []

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId)
  folder = mkdtempSync(join(tmpdir(), 'earshot-sdk-'))
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close({ timeoutMs: 1 })))
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

function client(options: ConstructorParameters<typeof Earshot>[0] = {}): Earshot {
  const { agentKey, agentSecret: secret } = application
  const made = new Earshot({ url: server.baseUrl, agentKey, secret, delayMs: 1, ...options })
  clients.push(made)
  return made
}

const user = (content: string, more: object = {}): Message => ({ role: 'user', content, ...more })
const assistant = (content: string, more: object = {}): Message => ({ role: 'assistant', content, ...more })

interface Stored {
  readonly type: string
  readonly content?: string
  readonly sequence: number
  readonly revision: number
  readonly participantExternalId?: string
  readonly externalEventId: string
  readonly occurredAt: string
  readonly feedback?: { readonly targetEventExternalId: string }
}

async function stored(
  externalSessionId: string,
): Promise<{ status: string; events: readonly Stored[] } | null> {
  const { get } = server.as({ apiKey: tenant.apiKey })
  const found = await get(`/v3/rest/agent-conversations/sessions?externalSessionId=${externalSessionId}`)
  const [session] = found.body.data.filter(
    (one: { externalSessionId: string }) => one.externalSessionId === externalSessionId,
  )
  if (session === undefined) return null
  const { body } = await get(`/v3/rest/agent-conversations/sessions/${session.id}`)
  return { status: body.status, events: body.events.data ?? body.events }
}
const contents = async (id: string) => (await stored(id))?.events.map(({ content }) => content)

describe('a conversation', () => {
  test('is stored in order, once, with its person, its feedback and its end', async () => {
    const earshot = client()
    const session = earshot.session('whole', {
      person: { externalId: 'ann', displayName: 'Ann' },
      context: { productArea: 'export' },
    })
    const history: Message[] = []
    for (let turn = 1; turn <= 10; turn++) {
      history.push(user(`question ${turn}`), assistant(`answer ${turn}`))
      session.sync(history)
      session.sync(history)
    }
    session.feedback(history[1]!, 'negative', 'Not what I asked.')
    session.end()
    expect(await earshot.flush()).toBe(true)
    const { status, events } = (await stored('whole'))!
    expect(status).toBe('ended')
    const spoken = events.filter(({ type }) => type !== 'feedback')
    expect(spoken.map(({ content }) => content)).toEqual(history.map(({ content }) => content as string))
    expect(events.every(({ revision }) => revision === 1)).toBe(true)
    expect(spoken[0]).toMatchObject({ type: 'user_message', participantExternalId: 'ann' })
    const [rated] = events.filter(({ type }) => type === 'feedback')
    expect(rated?.feedback).toMatchObject({ rating: 'negative', comment: 'Not what I asked.' })
    expect(earshot.stats()).toEqual({ queued: 0, sent: 21, dropped: 0, failed: 0, retried: 0 })
  })

  test('of two processes that share nothing is stored once', async () => {
    const history = [user('yes'), assistant('Sure?'), user('yes')]
    const [one, other] = [client(), client()]
    one.session('shared').sync(history.slice(0, 2))
    await one.flush()
    other.session('shared').sync(history)
    one.session('shared').sync(history)
    await Promise.all([one.flush(), other.flush()])
    expect(await contents('shared')).toEqual(['yes', 'Sure?', 'yes'])
  })

  test('with ids: another text of the same id is a revision', async () => {
    const earshot = client()
    const session = earshot.session('revised')
    session.sync([user('hi', { id: 'm1' }), assistant('Hel', { id: 'm2' })])
    await earshot.flush()
    session.sync([user('hi', { id: 'm1' }), assistant('Hello!', { id: 'm2' })])
    await earshot.flush()
    const { events } = (await stored('revised'))!
    expect(events.map(({ content, revision }) => [content, revision])).toEqual([
      ['hi', 1],
      ['Hello!', 2],
    ])
  })

  test('another rating of the same answer replaces the first', async () => {
    const earshot = client()
    const session = earshot.session('rated')
    session.sync([user('hi'), assistant('Hello!', { id: 'a1' })])
    session.feedback('a1', 'negative')
    await earshot.flush()
    session.feedback('a1', 'positive')
    await earshot.flush()
    const ratings = (await stored('rated'))!.events.filter(({ type }) => type === 'feedback')
    expect(
      ratings.map(({ feedback, revision }) => [(feedback as unknown as { rating: string }).rating, revision]),
    ).toEqual([['positive', 2]])
  })

  test('a bare end closes a session whose messages are sent', async () => {
    const earshot = client()
    earshot.session('bare').sync([user('hi')])
    await earshot.flush()
    earshot.session('bare').end('abandoned')
    await earshot.flush()
    expect(await stored('bare')).toMatchObject({ status: 'abandoned', events: [{ content: 'hi' }] })
  })
})

test('texts are redacted before they are queued; a message whose redaction fails is left out', async () => {
  const errors: EarshotError[] = []
  const bodies: string[] = []
  const earshot = client({
    redact(text) {
      if (text === 'bad') throw new Error('no')
      return text.replaceAll('SECRET', '…')
    },
    onError: (error) => errors.push(error),
    fetch: (input, init) => {
      bodies.push(String(init?.body))
      return fetch(input, init)
    },
  })
  const session = earshot.session('redacted')
  session.sync([user('my SECRET'), user('bad'), assistant('ok')])
  session.feedback('a1', 'negative', 'SECRET too')
  await earshot.flush()
  expect(bodies.join()).not.toContain('SECRET')
  expect((await contents('redacted'))?.slice(0, 2)).toEqual(['my …', 'ok'])
  expect(errors[0]?.code).toBe('invalid_message')
})

test('one message that the service refuses does not hold up the others', async () => {
  const errors: EarshotError[] = []
  const earshot = client({ onError: (error) => errors.push(error) })
  const long = 'x'.repeat(300_000)
  const history = [
    ...Array.from({ length: 9 }, (_, n) => user(`m${n}`)),
    user(long),
    ...Array.from({ length: 9 }, (_, n) => user(`n${n}`)),
  ]
  earshot.session('refused').sync(history)
  await earshot.flush()
  expect((await contents('refused'))?.length).toBe(18)
  expect(earshot.stats()).toMatchObject({ sent: 18, dropped: 0, failed: 1, queued: 0 })
  expect(errors).toHaveLength(1)
  expect(errors[0]?.status).toBe(400)
})

test('a pause that the service asks for is kept while the application waits', async () => {
  let attempts = 0
  const busy = async () => {
    attempts++
    return new Response('{"code":"rate_limited"}', { status: 429, headers: { 'retry-after': '3600' } })
  }
  const earshot = client({ fetch: busy })
  earshot.session('busy').sync([user('hi')])
  await eventually(() => earshot.stats().retried === 1)
  expect(await earshot.flush({ timeoutMs: 50 })).toBe(false)
  expect(attempts).toBe(1)
})

test('a wrong secret, strange messages and a broken error handler reach nobody', async () => {
  const earshot = client({
    secret: 'eas_wrong',
    onError() {
      throw new Error('broken handler')
    },
  })
  const session = earshot.session('nobody')
  session.sync([user('hi')])
  session.sync(null as never)
  session.sync([null as never, 7 as never, user('there')])
  session.feedback({ role: 'assistant' }, 'positive')
  expect(await earshot.flush()).toBe(true)
  // Two refused messages, two that are none, a list that is none, and feedback on nothing.
  expect(earshot.stats()).toMatchObject({ sent: 0, queued: 0, failed: 6 })
  expect(await stored('nobody')).toBeNull()
})

test('a wrong secret is written to the console once, with the code of the answer', async () => {
  const warn = spyOn(console, 'warn').mockImplementation(() => {})
  try {
    const earshot = client({ secret: 'eas_wrong' })
    for (const id of ['silent-1', 'silent-2', 'silent-3']) earshot.session(id).sync([user('hi')])
    expect(await earshot.flush()).toBe(true)
    expect(earshot.stats()).toMatchObject({ failed: 3 })
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^earshot: .*401.*\(invalid_agent_secret\)$/)]])
  } finally {
    warn.mockRestore()
  }
})

test('one strange message loses only itself, and is counted', async () => {
  const earshot = client()
  earshot.session('strange').sync([user('one'), null as never, 'text' as never, user('two')])
  expect(await earshot.flush()).toBe(true)
  expect(earshot.stats()).toMatchObject({ sent: 2, failed: 2 })
  expect((await stored('strange'))!.events.map(({ content }) => content)).toEqual(['one', 'two'])
})

test('a person by the names of before is the same', async () => {
  const earshot = client()
  const person = { id: 'p-1', name: 'Ada', company: 'c-1' } as never
  earshot.session('named', { person }).sync([user('hi')])
  expect(await earshot.flush()).toBe(true)
  const [row] = await server.database.sql`
    select participants from agent_session where external_session_id = 'named'`
  expect(row?.participants).toMatchObject([
    { externalId: 'p-1', displayName: 'Ada', companyExternalId: 'c-1' },
  ])
})

test('times are those of the messages in any unit; what is no time is now', () => {
  const now = new Date('2026-05-05T00:00:00.000Z')
  const at = (occurredAt: unknown) => timeOf({ occurredAt } as never, now)
  for (const time of ['2026-01-02T03:04:05Z', 1767323045, 1767323045_000, 1767323045e6, 1767323045e9])
    expect(at(time)).toBe('2026-01-02T03:04:05.000Z')
  for (const time of ['yesterday', Number.NaN, 1e300, {}, '9999-01-01T00:00:00Z', true])
    expect(at(time)).toBe(now.toISOString())
})

test('feedback finds the last answer with a text, by any process', async () => {
  const history = [user('one'), assistant('Done.'), user('two'), assistant('Done.')]
  client().session('looked-up').sync(history)
  const targets = async () => {
    const { events } = (await stored('looked-up'))!
    const at = new Map(events.map(({ externalEventId, sequence }) => [externalEventId, sequence]))
    return events.flatMap(({ feedback }) => (feedback ? [at.get(feedback.targetEventExternalId)] : []))
  }
  await Promise.all(clients.map((one) => one.flush()))
  const known = clients.at(-1)!
  known.session('looked-up').feedback(assistant('Done.'), 'negative')
  await known.flush()
  expect(await targets()).toEqual([4])
  const stranger = client()
  stranger.session('looked-up').feedback(assistant('Done.'), 'negative')
  await stranger.flush()
  expect((await targets()).toSorted()).toEqual([2, 4])
})

test('characters that the service refuses are replaced; the times of messages count', async () => {
  const earshot = client()
  earshot
    .session('odd')
    .sync([
      user('a\0b\ud83d c', { occurredAt: '2026-01-05T09:00:00Z' }),
      assistant('ok', { createdAt: new Date(1_767_603_605_000) }),
    ])
  expect(await earshot.flush()).toBe(true)
  expect(earshot.stats()).toMatchObject({ sent: 2, dropped: 0 })
  const { events } = (await stored('odd'))!
  expect(events.map(({ content, occurredAt }) => [content, occurredAt])).toEqual([
    ['ab\ufffd c', '2026-01-05T09:00:00.000Z'],
    ['ok', '2026-01-05T09:00:05.000Z'],
  ])
})

test('an end that cannot be sent is reported', () => {
  const errors: string[] = []
  client({ onError: ({ message }) => errors.push(message) })
    .session('empty')
    .end()
  expect(errors).toEqual([expect.stringContaining('an end needs a message')])
})

test('a missing option is named at the start', () => {
  expect(() => new Earshot({ agentKey: 'demo', secret: 'x', url: '' })).toThrow('"url"')
})

test('a used-up quota drops the events, counts them, and is not asked again', async () => {
  const { sql } = server.database
  const limited = await server.createTenant()
  await setQuotas(sql, limited.organizationId, { media: undefined, events: 0 }, async () => {})
  const { agentKey, agentSecret: secret } = await server.createApplication(limited.organizationId)
  const errors: string[] = []
  const earshot = client({ agentKey, secret, onError: ({ code }) => errors.push(code) })
  await earshot.session('full').sync([user('one'), assistant('two')])
  await earshot.flush()
  expect(errors).toEqual(['quota_exceeded'])
  expect(earshot.stats()).toMatchObject({ sent: 0, failed: 2, retried: 0, queued: 0 })
})

test('beyond the bound the oldest events go and are counted', async () => {
  const errors: string[] = []
  const earshot = client({
    url: 'http://127.0.0.1:1',
    maxEvents: 5,
    onError: ({ code }) => errors.push(code),
  })
  for (let n = 0; n < 8; n++) earshot.session(`bound-${n}`).sync([user(`m${n}`)])
  expect(earshot.stats()).toMatchObject({ queued: 5, dropped: 3 })
  expect(errors.filter((code) => code === 'queue_full')).toHaveLength(3)
})

test('what a killed process had queued is sent by the next one', async () => {
  const spool = join(folder, 'spool')
  const dead = client({ url: 'http://127.0.0.1:1', spool })
  dead.session('spooled').sync([user('one'), assistant('two')])
  expect(readFileSync(spool, 'utf8').split('\n')).toHaveLength(3)
  // A line that a crash has cut.
  writeFileSync(spool, `${readFileSync(spool, 'utf8')}{"number":3,"mem`)
  const next = client({ spool })
  expect(next.stats().queued).toBe(2)
  await next.flush()
  expect(await contents('spooled')).toEqual(['one', 'two'])
  expect(readFileSync(spool, 'utf8')).toBe('')
  expect(existsSync(`${spool}.new`)).toBe(false)
})

test('the reader goes through all pages', async () => {
  const reader = new EarshotReader({ url: server.baseUrl, apiKey: tenant.apiKey })
  const seen: unknown[] = []
  for await (const { externalSessionId } of reader.conversations({ limit: 2 })) seen.push(externalSessionId)
  expect(seen).toContain('whole')
  expect(new Set(seen).size).toBe(seen.length)
  const refused = await new EarshotReader({ url: server.baseUrl, apiKey: 'esk_no' }).get('signals').then(
    () => null,
    (error: EarshotError) => error,
  )
  expect(refused?.status).toBe(401)
})

test('an upload resumes where it was cut', async () => {
  const { post } = server.as({ apiKey: tenant.apiKey })
  const recording = await post('/v3/rest/recordings', { displayName: 'call' })
  const file = new Blob([crypto.getRandomValues(new Uint8Array(60_000))])
  const created = await post(`/v3/rest/recordings/${recording.body.id}/uploads`, {
    fileName: 'call.wav',
    fileSize: file.size,
  })
  let requests = 0
  const progress: number[] = []
  await uploadFile(created.body.uploadUrl, file, {
    onProgress: (bytes) => progress.push(bytes),
    fetch: async (input, init) => {
      requests++
      if (requests !== 2) return fetch(input, init)
      await fetch(input, { ...init, body: (init!.body as Blob).slice(0, 20_000) })
      throw new Error('the connection was cut')
    },
  })
  expect(progress).toEqual([0, 20_000, 60_000])
})

test('the process ends by itself, and sends what waits before', async () => {
  const program = join(folder, 'program.ts')
  const source = join(import.meta.dir, '../../sdk/typescript/src/index.ts')
  writeFileSync(
    program,
    `import { Earshot } from ${JSON.stringify(source)}\nnew Earshot().session('exit').sync([{ role: 'user', content: 'bye' }])\n`,
  )
  const env = {
    PATH: process.env.PATH ?? '',
    EARSHOT_URL: server.baseUrl,
    EARSHOT_AGENT_KEY: application.agentKey,
    EARSHOT_SECRET: application.agentSecret,
  }
  const child = Bun.spawn([process.execPath, program], { env, stdout: 'inherit', stderr: 'inherit' })
  expect(await child.exited).toBe(0)
  await eventually(async () => (await contents('exit'))?.[0] === 'bye')
})
