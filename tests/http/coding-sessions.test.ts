/** Sessions of coding agents over HTTP: normalised events, deduplication, reads, ownership, deletion, redaction. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { CodingEvent } from '../../src/hear/coding-sessions/event.rules.ts'
import { storeEvents } from '../../src/hear/coding-sessions/events.store.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createCodingSession, SESSIONS } from '../support/coding-sessions.ts'
import { eventually } from '../support/eventually.ts'
import { blockedBy } from '../support/mailboxes.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let tenant: Tenant
/** Another user of the same organization. */
let bob: Client
let stranger: Tenant
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await createTenant(server)
  stranger = await createTenant(server)
  bob = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
})
afterAll(() => server.stop())

const EVENTS = [
  {
    id: '1',
    role: 'user',
    text: 'The login form rejects long passwords.',
    occurredAt: '2026-03-01T09:00:00Z',
  },
  {
    id: '2',
    role: 'assistant',
    text: 'I raise the limit.',
    model: 'example-model-1',
    occurredAt: '2026-03-01T09:00:05Z',
    toolCalls: [
      { id: 'c1', name: 'Edit', input: { file_path: 'src/login.ts', old_string: '72', new_string: '256' } },
      { id: 'c2', name: 'Bash', input: { command: 'make test' } },
    ],
    usage: { inputTokens: 120, outputTokens: 8, cacheReadTokens: 40 },
  },
  { id: '3', kind: 'tool_result', toolCallId: 'c2', text: '12 passed', occurredAt: '2026-03-01T09:00:09Z' },
] as const

const upload = (client: Client, members: object = {}) =>
  client.post(SESSIONS, {
    format: 'normalized',
    agent: 'my-agent',
    externalSessionId: newId(),
    events: EVENTS,
    ...members,
  })

const USAGE = {
  inputTokens: 120,
  outputTokens: 8,
  cacheReadTokens: 40,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

describe('uploading normalised events', () => {
  test('is 201 with Location and the counts of the session', async () => {
    const { status, headers, body } = await upload(tenant.user)
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${SESSIONS}/${body.sessionId}`)
    expect(body).toEqual({
      sessionId: expect.any(String),
      agent: 'my-agent',
      startedAt: '2026-03-01T09:00:00.000Z',
      endedAt: '2026-03-01T09:00:09.000Z',
      eventCount: 3,
      deduplicatedEventCount: 0,
      messages: 2,
      fileEdits: 1,
      toolCalls: 2,
      usage: USAGE,
      skippedLines: 0,
    })
  })

  test('twice adds nothing', async () => {
    const externalSessionId = newId()
    const first = await upload(tenant.user, { externalSessionId })
    const second = await upload(tenant.user, { externalSessionId })
    expect(second.body).toEqual({ ...first.body, deduplicatedEventCount: 3 })
  })

  test('as a longer version adds what is new', async () => {
    const externalSessionId = newId()
    const first = await upload(tenant.user, { externalSessionId, events: EVENTS.slice(0, 1) })
    expect(first.body).toMatchObject({ eventCount: 1, messages: 1, usage: { inputTokens: 0 } })
    const second = await upload(tenant.user, { externalSessionId })
    expect(second.body).toMatchObject({
      sessionId: first.body.sessionId,
      eventCount: 3,
      deduplicatedEventCount: 1,
      usage: USAGE,
    })
  })

  test('without ids is recognised by content, in its order', async () => {
    const again = { role: 'user', text: newId() }
    const events = [again, { text: 'Done.' }, again]
    const input = { externalSessionId: undefined, events }
    const first = await upload(tenant.user, input)
    expect(first.body).toMatchObject({ eventCount: 3, deduplicatedEventCount: 0 })
    const longer = await upload(tenant.user, { ...input, events: [...events, again] })
    expect(longer.body).toMatchObject({
      sessionId: first.body.sessionId,
      eventCount: 4,
      deduplicatedEventCount: 3,
    })
  })

  test('as jsonl counts lines that cannot be used', async () => {
    const jsonl = [JSON.stringify(EVENTS[0]), '{"id":"4","role":"us', '[]', '{"kind":"dance"}', ''].join('\n')
    const { status, body } = await upload(tenant.user, { events: undefined, jsonl })
    expect(status).toBe(201)
    expect(body).toMatchObject({ eventCount: 1, skippedLines: 3 })
  })

  test('of 5,000 events is stored completely', async () => {
    const events = Array.from({ length: 5_000 }, (_, index) => ({
      id: String(index),
      role: 'user',
      text: `${index}`,
    }))
    const { body } = await upload(tenant.key, { events })
    expect(body).toMatchObject({ eventCount: 5_000, messages: 5_000 })
  })

  test.each([
    [{ events: undefined }, 'validation_failed'],
    [{ jsonl: '{}' }, 'validation_failed'],
    [{ format: 'codex' }, 'validation_failed'],
    [{ format: 'cobol' }, 'validation_failed'],
    [{ events: undefined, jsonl: '{"kind":"dance"}' }, 'coding_session_empty'],
    [{ agent: 'My Agent' }, 'validation_failed'],
    [{ colour: 'red' }, 'unknown_member'],
  ])('%j is 400 %s', async (members, code) => {
    expect(await upload(tenant.user, members)).toMatchObject({ status: 400, body: { code } })
  })
})

test('tokens that add up beyond what JavaScript can count stay there', async () => {
  const externalSessionId = newId()
  const usage = { outputTokens: 10_000_000_000 }
  const events = Array.from({ length: 10 }, (_, index) => ({
    id: `${index}`,
    role: 'assistant',
    text: 'x',
    usage,
  }))
  const { body } = await upload(tenant.user, { externalSessionId, events: events.slice(0, 1) })
  await server.database.sql`
    update coding_session
    set output_tokens = ${Number.MAX_SAFE_INTEGER} - 50000000000
    where id = ${body.sessionId}`
  const grown = await upload(tenant.user, { externalSessionId, events })
  expect([grown.status, grown.body.usage.outputTokens]).toEqual([201, Number.MAX_SAFE_INTEGER])
  const later = await upload(tenant.user, {
    externalSessionId,
    events: [{ id: 'more', role: 'assistant', usage }],
  })
  expect([later.status, later.body.usage.outputTokens]).toEqual([201, Number.MAX_SAFE_INTEGER])
})

test.each([10_000_000_001, 1e300, -1])(
  '%d tokens are no count: the line is named as skipped, and its words stay',
  async (count) => {
    const events = [
      { id: 'a', role: 'assistant', text: 'Words that stay', usage: { outputTokens: count, inputTokens: 7 } },
      { id: 'b', role: 'assistant', text: 'x', usage: { outputTokens: 10_000_000_000, inputTokens: 0 } },
    ]
    const jsonl = events.map((event) => JSON.stringify(event)).join('\n')
    const members = { externalSessionId: newId(), events: undefined, jsonl }
    const { status, body } = await upload(tenant.user, members)
    expect([status, body.skippedLines, body.messages]).toEqual([201, 1, 2])
    expect(body.usage).toMatchObject({ outputTokens: 10_000_000_000, inputTokens: 7 })
  },
)

describe('redaction', () => {
  test('covers keys and tokens in texts, inputs and outputs, and members by name', async () => {
    const key = `sk-${'a1B2'.repeat(10)}`
    const id = await createCodingSession(tenant.user, {
      title: `Rotate ${key}`,
      events: [
        {
          role: 'user',
          text: `Use ${key}, please.`,
          toolCalls: [
            {
              name: 'Bash',
              input: { command: `curl -H "Authorization: Bearer ${key}"`, password: 'x' },
              output: key,
            },
          ],
        },
      ],
    })
    const { body } = await tenant.user.get(`${SESSIONS}/${id}/events`)
    expect(JSON.stringify(body)).not.toContain(key)
    expect(body.data[0]).toMatchObject({
      text: 'Use [redacted], please.',
      toolCalls: [{ input: { password: '[redacted]' }, output: '[redacted]' }],
    })
    expect((await tenant.user.get(`${SESSIONS}/${id}`)).body.title).toBe('Rotate [redacted]')
  })
})

test("the redaction rules of the organization's agent applications hold for sessions, too", async () => {
  const own = await createTenant(server)
  await server.createApplication(own.organizationId, {
    settings: { redactedFields: ['ticket'], redactedPatterns: ['CUST-\\d+'] },
  })
  const events = [
    { text: 'About CUST-4711', toolCalls: [{ name: 'find', input: { ticket: 'x', id: 'CUST-4712' } }] },
  ]
  const id = await createCodingSession(own.user, { events })
  const { body } = await own.user.get(`${SESSIONS}/${id}/events`)
  expect(body.data[0]).toMatchObject({
    text: 'About [redacted]',
    toolCalls: [{ input: { ticket: '[redacted]', id: '[redacted]' } }],
  })
})

describe('reading', () => {
  test('gives the session and its events, page by page in their order', async () => {
    const { body } = await upload(tenant.user, {
      title: 'Login',
      repo: 'shop',
      branch: 'main',
      commit: '0f4c2d9',
    })
    const session = `${SESSIONS}/${body.sessionId}`
    expect((await tenant.user.get(session)).body).toMatchObject({
      sessionId: body.sessionId,
      title: 'Login',
      repo: 'shop',
      branch: 'main',
      commit: '0f4c2d9',
      eventCount: 3,
      usage: USAGE,
    })
    const first = (await tenant.user.get(`${session}/events?limit=2`)).body
    expect(first.data.map(({ text }: { text: string }) => text)).toEqual([EVENTS[0].text, EVENTS[1].text])
    expect(first.data[1].toolCalls.map(({ name }: { name: string }) => name)).toEqual(['Edit', 'Bash'])
    const second = (await tenant.user.get(`${session}/events?limit=2&cursor=${first.next_cursor}`)).body
    expect(second).toMatchObject({
      data: [{ kind: 'tool_result', role: 'tool', toolCallId: 'c2' }],
      has_more: false,
    })
  })

  test('lists the newest first, by cursor and by agent', async () => {
    const { userToken } = await server.createUser(tenant.organizationId)
    const carol = server.as({ userToken })
    const ids: string[] = []
    for (const agent of ['a', 'b', 'a']) ids.unshift(await createCodingSession(carol, { agent }))
    const own = ({ body }: { body: { data: { sessionId: string }[] } }) =>
      body.data.map(({ sessionId }) => sessionId).filter((id) => ids.includes(id))
    const page = await carol.get(`${SESSIONS}?limit=2`)
    expect(own(page)).toEqual(ids.slice(0, 2))
    expect(own(await carol.get(`${SESSIONS}?limit=1&cursor=${page.body.next_cursor}`))).toEqual(ids.slice(2))
    expect(own(await carol.get(`${SESSIONS}?agent=b`))).toEqual([ids[1] as string])
  })

  test('is 404 for another user, for a key and for another organization', async () => {
    const id = await createCodingSession(tenant.user)
    for (const client of [bob, tenant.key, stranger.user, stranger.key]) {
      for (const path of [`${SESSIONS}/${id}`, `${SESSIONS}/${id}/events`])
        expect(await client.get(path)).toMatchObject({
          status: 404,
          body: { code: 'coding_session_not_found' },
        })
      expect((await client.delete(`${SESSIONS}/${id}`)).status).toBe(404)
      expect(JSON.stringify((await client.get(SESSIONS)).body)).not.toContain(id)
    }
    expect((await tenant.user.get(`${SESSIONS}/${id}`)).status).toBe(200)
  })

  test('of a session that a key uploaded is for the whole organization', async () => {
    const id = await createCodingSession(tenant.key)
    for (const client of [tenant.key, tenant.user, bob])
      expect((await client.get(`${SESSIONS}/${id}`)).status).toBe(200)
    expect((await stranger.user.get(`${SESSIONS}/${id}`)).status).toBe(404)
  })
})

describe('deleting', () => {
  test('removes the session at once and its events soon; a new upload begins anew', async () => {
    const externalSessionId = newId()
    const { body } = await upload(tenant.user, { externalSessionId })
    expect((await tenant.user.delete(`${SESSIONS}/${body.sessionId}`)).status).toBe(204)
    expect((await tenant.user.get(`${SESSIONS}/${body.sessionId}`)).status).toBe(404)
    const again = await upload(tenant.user, { externalSessionId })
    expect(again.body).toMatchObject({ eventCount: 3, deduplicatedEventCount: 0 })
    const count = async () =>
      (
        await server.database.sql`
        select 1 from coding_session_event where session_id = ${body.sessionId}`
      ).length
    await eventually(async () => expect(await count()).toBe(0))
  })

  test('of the organization takes sessions and events with it', async () => {
    const gone = await createTenant(server)
    const id = await createCodingSession(gone.user)
    const { sql } = server.database
    await sql`delete from organization where id = ${gone.organizationId}`
    expect(await sql`select 1 from coding_session where id = ${id}`).toBeEmpty()
    expect(await sql`select 1 from coding_session_event where session_id = ${id}`).toBeEmpty()
  })
})

test('a fork shares the ids of its parent, and its parent counts their tokens', async () => {
  const uuid = newId()
  const line = (sessionId: string, members: object) => JSON.stringify({ sessionId, ...members })
  const history = (sessionId: string) => [
    line(sessionId, { type: 'user', uuid, message: { role: 'user', content: 'Hello' } }),
    line(sessionId, {
      type: 'assistant',
      uuid: `${uuid}-2`,
      message: {
        id: `msg_${uuid}`,
        content: [{ type: 'text', text: 'Hi' }],
        usage: { input_tokens: 7, output_tokens: 2 },
      },
    }),
  ]
  const own = line('fork', {
    type: 'assistant',
    uuid: `${uuid}-3`,
    message: {
      id: `msg_${uuid}-3`,
      content: [{ type: 'text', text: 'Bye' }],
      usage: { input_tokens: 9, output_tokens: 1 },
    },
  })
  const send = (lines: readonly string[]) =>
    tenant.user.post(SESSIONS, { format: 'claude-code', jsonl: lines.join('\n') })
  const parent = (await send(history(`${uuid}-parent`))).body
  const fork = (await send([...history(`${uuid}-fork`), own.replace('"fork"', `"${uuid}-fork"`)])).body
  expect(parent).toMatchObject({ agent: 'claude-code', eventCount: 2, usage: { inputTokens: 7 } })
  expect(fork.sessionId).not.toBe(parent.sessionId)
  expect(fork).toMatchObject({
    eventCount: 3,
    deduplicatedEventCount: 2,
    usage: { inputTokens: 9, outputTokens: 1 },
  })
  const idsOf = async ({ sessionId }: { sessionId: string }) =>
    (await tenant.user.get(`${SESSIONS}/${sessionId}/events`)).body.data.map(({ id }: { id: string }) => id)
  expect((await idsOf(fork)).slice(0, 2)).toEqual(await idsOf(parent))
})

describe('ids that are not unique', () => {
  const line = (members: object) => JSON.stringify({ timestamp: '2026-03-01T09:00:00Z', ...members })
  /** A session of Claude Code behind a relay: every answer has the same id, and so has every call. */
  const relayed = (sessionId: string, agentId?: string) => {
    const common = { sessionId, ...(agentId === undefined ? {} : { agentId, isSidechain: true }) }
    const uuid = newId()
    const message = (content: object) => ({
      id: 'relay',
      content: [content],
      usage: { input_tokens: 5, output_tokens: 2 },
    })
    const result = { type: 'tool_result', tool_use_id: 'Read:0', content: uuid }
    return [
      line({ ...common, type: 'user', uuid: `${uuid}-1`, message: { role: 'user', content: 'Look.' } }),
      line({
        ...common,
        type: 'assistant',
        uuid: `${uuid}-2`,
        message: message({ type: 'tool_use', id: 'Read:0', name: 'Read' }),
      }),
      line({ ...common, type: 'user', uuid: `${uuid}-3`, message: { role: 'user', content: [result] } }),
      line({
        ...common,
        type: 'assistant',
        uuid: `${uuid}-4`,
        message: message({ type: 'text', text: 'Done.' }),
      }),
    ].join('\n')
  }
  const send = async (format: string, jsonl: string) =>
    (await tenant.user.post(SESSIONS, { format, jsonl })).body

  test('the next session counts its own answers and tokens', async () => {
    for (const sessionId of [newId(), newId()])
      expect(await send('claude-code', relayed(sessionId))).toMatchObject({
        eventCount: 4,
        deduplicatedEventCount: 0,
        usage: { inputTokens: 10, outputTokens: 4 },
      })
  })

  test('the file of a sub-agent, which has the id of its session, adds its answers; the same files again add nothing', async () => {
    const sessionId = newId()
    const [main, agent] = [relayed(sessionId), relayed(sessionId, 'a1')]
    await send('claude-code', main)
    const both = { eventCount: 8, usage: { inputTokens: 20, outputTokens: 8 } }
    expect(await send('claude-code', agent)).toMatchObject({ ...both, deduplicatedEventCount: 0 })
    for (const again of [main, agent])
      expect(await send('claude-code', again)).toMatchObject({ ...both, deduplicatedEventCount: 4 })
  })

  test('forks of one Codex session with equal words and tokens count their own; their parent counts the history', async () => {
    const root = newId()
    const said = (second: number, role: string, text: string) =>
      line({
        timestamp: `2026-03-01T09:00:${second}Z`,
        type: 'response_item',
        payload: { type: 'message', role, content: [{ text }] },
      })
    const total = (second: number, tokens: number) => {
      const info = { total_token_usage: { output_tokens: tokens }, last_token_usage: { output_tokens: 10 } }
      return line({
        timestamp: `2026-03-01T09:00:${second}Z`,
        type: 'event_msg',
        payload: { type: 'token_count', info },
      })
    }
    const file = (second: number, more: object, history: readonly string[]) => {
      const payload = { id: newId(), timestamp: `2026-03-01T09:00:${second}Z`, ...more }
      const header = line({ timestamp: payload.timestamp, type: 'session_meta', payload })
      return [header, ...history].join('\n')
    }
    const turn = (second: number, tokens: number) => [
      said(second, 'user', 'continue'),
      said(second, 'assistant', 'Done.'),
      total(second, tokens),
    ]
    const parent = file(10, { id: root }, [...turn(11, 10), ...turn(50, 20)])
    const fork = () => file(20, { forked_from_id: root }, [...turn(20, 10), ...turn(50, 20)])
    const counted = []
    for (const jsonl of [fork(), parent, fork()])
      counted.push((await send('codex', jsonl)).usage.outputTokens)
    expect(counted).toEqual([10, 20, 10])
  })
})

test('a fork that comes with its parent at once: one of them counts the tokens', async () => {
  const { sql } = server.database
  const event: CodingEvent = {
    id: newId(),
    origin: null,
    position: 1,
    revision: 1,
    kind: 'message',
    role: 'assistant',
    occurredAt: null,
    model: null,
    sidechain: false,
    inherited: false,
    body: { text: 'Hi' },
    toolCalls: 0,
    fileEdits: 0,
    usage: USAGE,
  }
  const [parent, fork] = [await createCodingSession(tenant.key), await createCodingSession(tenant.key)]
  const ref = (sessionId: string) => ({ organizationId: tenant.organizationId, sessionId })
  const receipt = { userId: null, receivedAt: null, ancestry: null }
  let isStored = false
  const [parents, forks] = await transaction(sql, async (tx) => {
    const grown = await storeEvents(tx, ref(parent), receipt, [event])
    const [own] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    const storing = transaction(sql, (other) => storeEvents(other, ref(fork), receipt, [event])).finally(
      () => {
        isStored = true
      },
    )
    await eventually(async () => isStored || (await blockedBy(sql, own?.pid ?? 0)) !== null)
    return [grown, storing] as const
  })
  expect([parents.fresh, parents.inputTokens]).toEqual([1, 120])
  expect(await forks).toMatchObject({ added: 1, fresh: 0, inputTokens: 0 })
})

test('uploads that wait for others of their owner leave connections to other organizations', async () => {
  const { sql } = server.database
  const other = await createTenant(server)
  const uploads = await sql.begin(async (tx) => {
    const [own] = await tx<{ pid: number }[]>`
      select pg_backend_pid() as pid,
        pg_advisory_xact_lock(hashtextextended(${`coding events of ${tenant.organizationId}`}, 0))`
    const waiting = Array.from({ length: 12 }, () => createCodingSession(tenant.key))
    await eventually(async () => (await blockedBy(sql, own?.pid ?? 0)) !== null)
    expect(await createCodingSession(other.key)).toBeString()
    return waiting
  })
  expect(new Set(await Promise.all(uploads)).size).toBe(12)
})
