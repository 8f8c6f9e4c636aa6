/**
 * Input that no honest client sends. The answer is a clear 400 (or 415) with a code and never a 500, nothing is stored, and the
 * process keeps running (specification, "Errors"; RFC 8259; RFC 3339).
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  openAgent,
  refused,
  type SentEvent,
  userMessage,
} from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer()
  agent = await openAgent(server)
})
afterAll(() => server.stop())

/** The JSON of a valid request with `from` replaced by `to`, for JSON that JSON.stringify does not write. */
function edited(from: string, to: string, members = {}): string {
  const text = JSON.stringify(agent.request([userMessage(1, { content: 'CONTENT' })], members))
  expect(text.split(from)).toHaveLength(2)
  return text.replace(from, () => to)
}

const content = (json: string) => edited('"CONTENT"', json)

describe('bodies that are no JSON object', () => {
  const bodies: Readonly<Record<string, string | Uint8Array>> = {
    'an empty body': '',
    'white space': ' \n ',
    'a cut off body': '{"agentKey":"a"',
    'a trailing comma': '{"events":[],}',
    'single quotes': "{'agentKey':'a'}",
    'two values': '{} {}',
    NaN: '{"events":NaN}',
    'a byte order mark alone': '\uFEFF',
    'invalid UTF-8': new Uint8Array([0x22, 0xff, 0xfe, 0x22]),
    'an overlong encoding': new Uint8Array([0x22, 0xc0, 0xaf, 0x22]),
    'a surrogate encoded as UTF-8': new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]),
    'UTF-16': Buffer.from('{}', 'utf16le'),
    'raw U+0000': '{"agentKey":"a\0b"}',
  }
  for (const [name, body] of Object.entries(bodies)) {
    test(`${name} is 400 malformed_json`, async () => {
      await refused(server, 'malformed_json', () => agent.post(body))
    })
  }

  for (const body of ['null', '[]', '[{}]', '"text"', '7', 'true', '{}']) {
    test(`${body} is 400 validation_failed`, async () => {
      await refused(server, 'validation_failed', () => agent.post(body))
    })
  }
})

describe('content type', () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'multipart/form-data',
    '',
  ])
    test(`${type || 'none'} is 415`, async () => {
      await refused(server, 'unsupported_media_type', () =>
        agent.post(new TextEncoder().encode(JSON.stringify(agent.request([userMessage(1)]))), {
          'content-type': type,
        }),
      )
    })

  for (const type of ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.agent+json'])
    test(`${type} is JSON`, async () => {
      const answer = await agent.post(agent.request([userMessage(1)], { externalSessionId: type }), {
        'content-type': type,
      })
      expect(answer.status).toBe(200)
    })
})

describe('text that cannot be stored', () => {
  const unstorable = {
    'U+0000': '\\u0000',
    'a lone high surrogate': '\\ud800',
    'a lone low surrogate': '\\udc00',
    'surrogates in the wrong order': '\\udc00\\ud800',
  }
  for (const [name, sequence] of Object.entries(unstorable)) {
    test(`${name} is 400 anywhere in a body, in member names and in ignored members too`, async () => {
      const bodies = [
        content(`"a${sequence}b"`),
        content(`[{"type":"text","text":"${sequence}"}]`),
        content(`[{"deep":{"a${sequence}":1}}]`),
        edited('"chat"', `"chat${sequence}"`),
        edited('"u1"', `"u1${sequence}"`),
        edited('"user_message"', `"user_message${sequence}"`),
        edited('"agentKey"', `"unknown${sequence}":1,"agentKey"`),
        edited('"agentKey"', `"ignored":["${sequence}"],"agentKey"`),
        edited('"agentKey"', `"context":{"properties":{"${sequence}":1}},"agentKey"`),
        edited('"agentKey"', `"participants":[{"externalId":"${sequence}"}],"agentKey"`),
      ]
      for (const body of bodies) {
        const answer = await refused(server, 'validation_failed', () => agent.post(body))
        expect(answer.body.details).toMatchObject([{ code: 'not_storable' }])
      }
    })
  }

  test('paired surrogates and every other control character are stored unchanged', async () => {
    const text = `\u{1F600}\u0001\u0007\u001b\u007f\u2028\uFFFF\\u0000`
    const { sessionId } = await agent.accept([userMessage(1, { content: text })], {
      externalSessionId: 'odd',
    })
    const [row] = await server.database.sql`
      select body ->> 'content' as content from agent_event where session_id = ${sessionId}`
    expect(row?.content).toBe(text)
  })
})

describe('numbers', () => {
  test('1e400 is 400 anywhere, also in content', async () => {
    for (const number of ['1e400', '-1e400', `1${'0'.repeat(400)}`]) {
      await refused(server, 'validation_failed', () => agent.post(content(`[${number}]`)))
      await refused(server, 'validation_failed', () =>
        agent.post(edited('"sequence":1', `"sequence":${number}`)),
      )
    }
  })

  for (const member of ['sequence', 'revision'] as const) {
    test(`${member} is a safe integer: text, fractions, 9007199254740993 and negative ones are 400`, async () => {
      for (const wrong of [
        '"5"',
        '1.5',
        '9007199254740993',
        '1e16',
        '-1',
        'true',
        'null',
        '[1]',
        '{}',
        '""',
      ]) {
        const answer = await refused(server, 'validation_failed', () =>
          agent.post(edited(`"${member}":1`, `"${member}":${wrong}`)),
        )
        expect(answer.body).toMatchObject({
          eventIndex: 0,
          externalEventId: 'u1',
          message: expect.stringContaining('(u1)'),
          details: [{ path: `events[0].${member}` }],
        })
      }
    })
  }

  test('the lowest revision is 1; an integer may be written as 2.0 or 2e0', async () => {
    await agent.refuse('validation_failed', [userMessage(1, { revision: 0 })])
    const session = { externalSessionId: 'float' }
    expect((await agent.post(edited('"revision":1', '"revision":2.0', session))).status).toBe(200)
    expect((await agent.post(edited('"revision":1', '"revision":2e0', session))).body).toMatchObject({
      deduplicatedEventCount: 1,
    })
  })

  test('usage accepts numbers from 0', async () => {
    for (const member of ['inputTokens', 'outputTokens', 'latencyMs'])
      for (const wrong of [-1, '5', null])
        await agent.refuse('validation_failed', [assistantMessage(1, { usage: { [member]: wrong } })])
    await agent.accept([assistantMessage(1, { usage: { inputTokens: 0, latencyMs: 12.5 } })], {
      externalSessionId: 'usage',
    })
  })
})

describe('times', () => {
  const wrong = [
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00+0100',
    '2026-01-01T00:00:00+25:00',
    '+02026-01-01T00:00:00Z',
    '0000-01-01T00:00:00Z',
    ' 2026-01-01T00:00:00Z',
    'yesterday',
    'infinity',
    '1767225600',
    '',
  ]
  for (const occurredAt of wrong) {
    test(`occurredAt ${JSON.stringify(occurredAt)} is 400 naming index and id`, async () => {
      const answer = await agent.refuse('validation_failed', [userMessage(0), userMessage(1, { occurredAt })])
      expect(answer.body).toMatchObject({
        eventIndex: 1,
        externalEventId: 'u1',
        details: [{ path: 'events[1].occurredAt' }],
      })
    })
  }

  test('offsets, leap days and fractions are accepted and kept to the microsecond', async () => {
    const times = [
      '2024-02-29T23:59:59.123456789+05:30',
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999999Z',
      '2026-01-01t00:00:00z',
      '2026-01-01T00:00:00-00:00',
    ]
    const { sessionId } = await agent.accept(
      times.map((occurredAt, index) => userMessage(index, { occurredAt })),
      { externalSessionId: 'times' },
    )
    const rows = await server.database.sql<{ at: string }[]>`
      select to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as at
      from agent_event where session_id = ${sessionId} order by sequence`
    expect(rows.map(({ at }) => at)).toEqual([
      '2024-02-29 18:29:59.123456',
      '0001-01-01 00:00:00.000000',
      '9999-12-31 23:59:59.999999',
      '2026-01-01 00:00:00.000000',
      '2026-01-01 00:00:00.000000',
    ])
  })
})

describe('nesting', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`

  for (const levels of [100, 10_000, 500_000]) {
    test(`${levels} levels are 400, as arrays and as objects`, async () => {
      await expectRefusal(content(nested(levels)))
      const objects = '{"a":'.repeat(Math.min(levels, 300_000))
      await expectRefusal(content(`${objects}1${'}'.repeat(objects.length / 5)}`))
      await expectRefusal(nested(levels))
    })
  }

  test('a body that is cut off in 1,000,000 levels is 400', () => expectRefusal('['.repeat(1_000_000)))

  test('50 levels are stored', async () => {
    const answer = await agent.post(content(nested(50)))
    expect(answer.status).toBe(200)
  })

  async function expectRefusal(body: string) {
    const answer = await agent.post(body)
    expect(answer.status).toBe(400)
    expect(['validation_failed', 'malformed_json', 'too_many_values']).toContain(answer.body.code)
  }
})

describe('member names with a meaning in JavaScript', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length']

  test('are stored unchanged in content and properties', async () => {
    for (const name of names) {
      const value = `{${JSON.stringify(name)}:{"polluted":"yes"}}`
      const answer = await agent.post(
        edited('"CONTENT"', `[${value}],"context":{"properties":${value}}`, { externalSessionId: name }),
      )
      expect(answer.status).toBe(200)
      const [row] = await server.database.sql`
        select body -> 'content' -> 0 -> ${name} ->> 'polluted' as content,
          body -> 'context' -> 'properties' -> ${name} ->> 'polluted' as property
        from agent_event where session_id = ${answer.body.sessionId}`
      expect({ ...row }).toEqual({ content: 'yes', property: 'yes' })
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  test('identify events and sessions like any other id', async () => {
    const session = { externalSessionId: 'names as ids' }
    const events = names.map((name, index) => assistantMessage(index, { externalEventId: name }))
    const rated = names.map((name, index) => feedbackOn(name, names.length + index))
    const sent: readonly SentEvent[] = [...events, ...rated]
    expect(await agent.accept(sent, session)).toMatchObject({ acceptedEventCount: 10 })
    expect(await agent.accept(sent, session)).toMatchObject({ deduplicatedEventCount: 10 })
  })

  test('unknown members are ignored at every level', async () => {
    const unknown = { whatever: 1, nothing: {} }
    const { sessionId } = await agent.accept(
      [userMessage(1, { ...unknown, context: unknown, model: unknown, usage: unknown, trace: unknown })],
      { externalSessionId: 'unknown', ...unknown, source: unknown, participants: [unknown] },
    )
    const [row] = await server.database.sql`select body from agent_event where session_id = ${sessionId}`
    expect(JSON.stringify(row)).not.toContain('whatever')
    const retry = await agent.accept([userMessage(1, { context: {}, model: {}, usage: {}, trace: {} })], {
      externalSessionId: 'unknown',
    })
    expect(retry).toMatchObject({ deduplicatedEventCount: 1 })
  })
})

test('of a member that is given twice the last one counts, as in JSON.parse', async () => {
  const answer = await agent.post(
    edited('"sequence":1', '"sequence":7,"sequence":8', { externalSessionId: 'twice' }),
  )
  expect(answer.status).toBe(200)
})
