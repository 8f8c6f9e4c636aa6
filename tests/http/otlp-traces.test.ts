/** `POST /v1/traces`: the protocol (opentelemetry-proto, docs/specification.md, "OTLP/HTTP") and what is stored. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { Reader } from 'protobufjs/minimal.js'
import { MAX_REQUEST_BYTES, MAX_TEXT } from '../../src/hear/otlp/model.ts'
import { type Agent, openAgent } from '../support/agents.ts'
import {
  at,
  keyValues,
  parent,
  requestOf,
  settle,
  span,
  storedEvents,
  TRACE,
  TRACES,
} from '../support/otlp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer({ actors: true })
  agent = await openAgent(server)
})
afterAll(() => server.stop())

const text = (role: string, content: string) => [{ role, parts: [{ type: 'text', content }] }]
/** A whole turn in one span. */
const turn = (question = 'Where is it?', answer = 'Here.', more: Record<string, unknown> = {}) => ({
  'gen_ai.operation.name': 'invoke_agent',
  'gen_ai.conversation.id': 'chat-1',
  'gen_ai.input.messages': text('user', question),
  'gen_ai.output.messages': text('assistant', answer),
  ...more,
})

interface Sent {
  readonly status: number
  readonly type: string | null
  readonly headers: Headers
  readonly bytes: Uint8Array
}

async function post(
  body: string | Uint8Array,
  headers: Record<string, string> = {},
  secret: string = agent.agentSecret,
): Promise<Sent> {
  const response = await fetch(`${server.baseUrl}${TRACES}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-agent-key': secret, ...headers },
    body,
  })
  const bytes = new Uint8Array(await response.arrayBuffer())
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    headers: response.headers,
    bytes,
  }
}

const json = (value: unknown) => JSON.stringify(value)
const parsed = ({ bytes }: Sent) => JSON.parse(Buffer.from(bytes).toString())
const PROTOBUF = { 'content-type': 'application/x-protobuf' }

/** `google.rpc.Status` or `ExportTracePartialSuccess`: a number in field 1 and a text in field 2. */
function numberAndText(bytes: Uint8Array): { number: number; text: string } {
  const reader = Reader.create(bytes)
  const found = { number: 0, text: '' }
  while (reader.pos < reader.len) {
    const tag = reader.uint32()
    if (tag === 8) found.number = Number(reader.int64())
    else if (tag === 18) found.text = reader.string()
    else reader.skipType(tag & 7)
  }
  return found
}

describe('the protocol', () => {
  test('an empty request succeeds in both encodings', async () => {
    for (const body of ['{}', '', '{"resourceSpans":[]}']) {
      const answer = await post(body)
      expect([answer.status, answer.type, parsed(answer)]).toEqual([200, 'application/json', {}])
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
    const answer = await post(new Uint8Array(), PROTOBUF)
    expect([answer.status, answer.type, answer.bytes.length]).toEqual([200, 'application/x-protobuf', 0])
  })

  test('a gzipped request is read', async () => {
    const body = gzipSync(json(requestOf([span(1, 0, turn(), { traceId: 'aa'.repeat(16) })])))
    expect((await post(body, { 'content-encoding': 'gzip' })).status).toBe(200)
  })

  test('a body above the limit after decompression is 413', async () => {
    const body = gzipSync(Buffer.alloc(MAX_REQUEST_BYTES + 1, ' '))
    expect(body.length).toBeLessThan(100_000)
    const answer = await post(body, { ...PROTOBUF, 'content-encoding': 'gzip' })
    expect([answer.status, answer.type]).toEqual([413, 'application/x-protobuf'])
    expect(numberAndText(answer.bytes)).toEqual({
      number: 8,
      text: expect.stringContaining('payload_too_large'),
    })
  })

  test('errors are google.rpc.Status in the encoding of the request', async () => {
    const inJson = await post('{')
    expect([inJson.status, inJson.type]).toEqual([400, 'application/json'])
    expect(parsed(inJson)).toEqual({ code: 3, message: expect.stringContaining('malformed_json') })
    const inBinary = await post(new Uint8Array([10, 200, 1]), PROTOBUF)
    expect([inBinary.status, inBinary.type]).toEqual([400, 'application/x-protobuf'])
    expect(numberAndText(inBinary.bytes)).toEqual({
      number: 3,
      text: expect.stringContaining('malformed_protobuf'),
    })
  })

  test('a body that is no request is 400, however deep or dense it is', async () => {
    expect((await post('[]')).status).toBe(400)
    // Attributes within attributes: field 6 of AnyValue, a list of pairs.
    let deep = new Uint8Array()
    const wrap = (tag: number, inner: Uint8Array) => {
      const size = [(inner.length & 127) | 128, ((inner.length >> 7) & 127) | 128, inner.length >> 14]
      return new Uint8Array([tag, ...size, ...inner])
    }
    for (let depth = 0; depth < 300; depth++) deep = wrap(10, wrap(18, wrap(50, deep)))
    const within = wrap(10, wrap(10, wrap(10, wrap(18, wrap(50, deep)))))
    expect((await post(within, PROTOBUF)).status).toBe(400)
    const dense = new Uint8Array(1_000_000)
    for (let index = 0; index < dense.length; index += 2) dense[index] = 10
    const answer = await post(dense, PROTOBUF)
    expect(answer.status).toBe(400)
    expect(numberAndText(answer.bytes).text).toContain('too_many_values')
  })

  test('values of unexpected types are ignored', async () => {
    const odd = [
      requestOf([span(1, 0, {}, { traceId: 'ab'.repeat(16), attributes: [{ key: 5 }] as never })]),
      requestOf([
        span(1, 0, {}, { traceId: 'ab'.repeat(16), attributes: [{ key: 'user.id', value: 5 }] as never }),
      ]),
      requestOf([span(1, 0, {}, { traceId: 'ab'.repeat(16), events: [{ name: 5 }] as never })]),
      requestOf([
        span(
          1,
          0,
          {},
          {
            traceId: 'ab'.repeat(16),
            attributes: [{ key: 'user.id', value: { kvlistValue: { values: [null] } } }] as never,
          },
        ),
      ]),
    ]
    for (const body of odd) expect((await post(json(body))).status).toBe(200)
  })

  test('lists and objects of other types are 400', async () => {
    const answer = await post(json({ resourceSpans: [{ scopeSpans: [{ spans: 'x' }] }] }))
    expect([answer.status, parsed(answer)]).toEqual([
      400,
      {
        code: 3,
        message: 'validation_failed: resourceSpans[0].scopeSpans[0].spans: must be an array, or null',
      },
    ])
  })

  test('another content type is 415, another coding too, and another method 405', async () => {
    for (const type of ['text/plain', 'constructor', '__proto__'])
      expect((await post('x', { 'content-type': type })).status).toBe(415)
    expect((await post('{}', { 'content-encoding': 'br' })).status).toBe(415)
    const answer = await agent.client.get(TRACES)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test('without the secret of an agent it is 401', async () => {
    const answer = await post('{}', {}, 'wrong')
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([
      401,
      expect.stringContaining('ApiKey'),
    ])
    expect(parsed(answer)).toEqual({ code: 16, message: expect.stringContaining('invalid_agent_secret') })
    expect((await server.as({ apiKey: agent.tenant.apiKey }).post(TRACES, {})).status).toBe(401)
  })

  test('above the limit it is 429 with Retry-After', async () => {
    const limited = await startTestServer({ beside: server, env: { RATE_LIMIT_AGENT_INGEST: '1' } })
    try {
      const client = limited.as({ agentSecret: agent.agentSecret })
      expect((await client.post(TRACES, {})).status).toBe(200)
      const answer = await client.post(TRACES, {})
      expect([answer.status, answer.body.code]).toEqual([429, 8])
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    } finally {
      await limited.stop()
    }
  })

  test('without room for bodies it is 503 with Retry-After', async () => {
    const full = await startTestServer({ beside: server, env: { MAX_BODIES_MB: '3' } })
    try {
      const client = full.as({ agentSecret: agent.agentSecret })
      const body = json({ padding: 'x'.repeat(1_000_000) })
      const answers = await Promise.all(Array.from({ length: 8 }, () => client.post(TRACES, body)))
      const refused = answers.filter(({ status }) => status === 503)
      expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true)
      expect(refused.length).toBeGreaterThan(0)
      expect(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true)
    } finally {
      await full.stop()
    }
  })
})

describe('partial success', () => {
  const bad = [
    ['no trace id', { traceId: undefined }],
    ['a span id of zeros', { spanId: '0'.repeat(16) }],
    ['an id that is not hexadecimal', { spanId: 'z'.repeat(16) }],
    ['an id that is no text', { traceId: { length: 200_000_000 } }],
    ['no start', { startTimeUnixNano: '0' }],
    ['a text that is too long', { attributes: keyValues(turn('x'.repeat(MAX_TEXT + 1))) }],
    [
      'an id that is too long',
      { attributes: keyValues(turn('a', 'b', { 'gen_ai.conversation.id': 'x'.repeat(513) })) },
    ],
  ] as const

  test.each(bad)('a span with %s is rejected, and the rest is accepted', async (_, change) => {
    const own = await openAgent(server)
    const body = json(requestOf([span(1, 0, turn()), { ...span(2, 5, turn()), ...change }]))
    const answer = await post(body, {}, own.agentSecret)
    expect([answer.status, parsed(answer)]).toEqual([
      200,
      { partialSuccess: { rejectedSpans: '1', errorMessage: expect.any(String) } },
    ])
    await settle(server)
    expect((await storedEvents(server, own)).map(({ body: { content } }) => content)).toEqual([
      'Where is it?',
      'Here.',
    ])
  })

  test('a span whose words are missed is named without being rejected, and those of tools are not', async () => {
    const own = await openAgent(server)
    const lost = { 'gen_ai.input.messages': [{ role: 'narrator', content: 'Once upon a time' }] }
    const tool = { 'openinference.span.kind': 'TOOL', 'input.value': 'x' }
    const http = { 'http.request.method': 'GET' }
    const body = json(requestOf([span(1, 0, lost), span(2, 0, tool), span(3, 0, http), span(4, 0, turn())]))
    const answer = parsed(await post(body, {}, own.agentSecret))
    expect(answer.partialSuccess).toEqual({
      rejectedSpans: '0',
      errorMessage: expect.stringContaining('0000000000000001'),
    })
    const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
    for (const line of [
      'outcome="ignored",reason="no_words"',
      'outcome="ignored",reason="tool"',
      'outcome="ignored",reason="no_content"',
      'outcome="accepted"',
    ])
      expect(metrics).toMatch(new RegExp(`earshot_otlp_spans_total\\{${line}[^}]*\\} [1-9]`))
    await settle(server)
    expect(await storedEvents(server, own)).toHaveLength(2)
  })

  test('is told in the binary encoding, too', async () => {
    // ResourceSpans › ScopeSpans › an empty span.
    const answer = await post(new Uint8Array([10, 4, 18, 2, 18, 0]), PROTOBUF)
    expect([answer.status, answer.bytes[0]]).toEqual([200, 10])
    expect(numberAndText(answer.bytes.slice(2))).toEqual({
      number: 1,
      text: expect.stringContaining('trace id'),
    })
  })

  test('spans of an environment that the settings do not list are rejected', async () => {
    const own = await openAgent(server, { settings: { allowedEnvironments: ['production'] } })
    const send = (resource: Record<string, string>) =>
      post(json(requestOf([span(1, 0, turn())], resource)), {}, own.agentSecret)
    expect(parsed(await send({ 'deployment.environment.name': 'production' }))).toEqual({})
    expect(parsed(await send({ 'deployment.environment': 'test' })).partialSuccess.rejectedSpans).toBe('1')
    expect(parsed(await send({})).partialSuccess.rejectedSpans).toBe('1')
  })

  test('a trace takes no more spans than it can hold', async () => {
    const own = await openAgent(server)
    const long = 'x'.repeat(MAX_TEXT)
    const answers: string[] = []
    for (let request = 0; request < 10; request++) {
      const spans = Array.from({ length: 10 }, (_, n) => span(100 * request + n + 1, n, turn(long, 'Yes.')))
      answers.push(json(parsed(await post(json(requestOf(spans)), {}, own.agentSecret))))
    }
    expect(answers[0]).toBe('{}')
    expect(JSON.parse(answers.at(-1) ?? '').partialSuccess).toMatchObject({ rejectedSpans: '10' })
  })
})

/** A span as the exporters of JavaScript have it. */
const binarySpan = (attributes: Record<string, unknown>) => ({
  name: 'agent',
  kind: 0,
  spanContext: () => ({ traceId: TRACE, spanId: `${'0'.repeat(15)}1`, traceFlags: 1 }),
  startTime: [1_767_340_800, 1_000],
  endTime: [1_767_340_801, 0],
  status: { code: 0 },
  attributes,
  links: [],
  events: [],
  duration: [1, 0],
  ended: true,
  resource: { attributes: { 'service.version': '1' }, merge: () => undefined, getRawAttributes: () => [] },
  instrumentationScope: { name: 'test' },
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
})

describe('what is stored', () => {
  async function store(request: unknown, settings = {}): Promise<Awaited<ReturnType<typeof storedEvents>>> {
    const own = await openAgent(server, { settings })
    expect((await post(json(request), {}, own.agentSecret)).status).toBe(200)
    await settle(server)
    return storedEvents(server, own)
  }

  test('a turn: question, answer, person, model, usage, times and where it is found', async () => {
    const events = await store(
      requestOf(
        [
          span(1, 0, turn('Where is it?', 'Here.', { 'user.id': 'u7', 'user.email': 'ada@example.com' })),
          span(
            2,
            0.25,
            {
              'gen_ai.operation.name': 'chat',
              'gen_ai.system': 'openai',
              'gen_ai.response.model': 'gpt-x',
              'gen_ai.usage.input_tokens': 12,
              'gen_ai.usage.output_tokens': 3,
            },
            { ...parent(1), endTimeUnixNano: at(0.5) },
          ),
        ],
        { 'service.version': '4.2', 'deployment.environment.name': 'production' },
      ),
    )
    const id = `${TRACE}-${'0'.repeat(15)}1`
    expect(events).toMatchObject([
      {
        session: 'chat-1',
        externalEventId: `${id}-question`,
        type: 'user_message',
        occurredAt: new Date('2026-01-02T08:00:00Z'),
        body: { content: 'Where is it?', participantExternalId: 'u7' },
      },
      {
        externalEventId: `${id}-answer`,
        type: 'assistant_message',
        occurredAt: new Date('2026-01-02T08:00:01Z'),
        body: {
          content: 'Here.',
          model: { provider: 'openai', name: 'gpt-x' },
          usage: { inputTokens: 12, outputTokens: 3, latencyMs: 1000 },
          trace: { traceId: TRACE, spanId: `${'0'.repeat(15)}1` },
        },
      },
    ])
    const [session] = await server.database.sql`
      select s.agent_version, s.context
      from agent_session s
      join agent_event e on e.session_id = s.id
      where e.external_event_id = ${`${id}-answer`}
        and s.agent_version is not null`
    expect(session).toMatchObject({
      agent_version: '4.2',
      context: { environment: 'production', release: '4.2' },
    })
  })

  test('the binary encoding means the same', async () => {
    const own = await openAgent(server)
    const bytes = ProtobufTraceSerializer.serializeRequest([
      binarySpan({
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.conversation.id': 'chat-2',
        'gen_ai.input.messages': json(text('user', 'Hello?')),
        'gen_ai.output.messages': json(text('assistant', 'Hello.')),
        'gen_ai.usage.input_tokens': 5,
      }),
    ] as never)
    expect((await post(bytes as Uint8Array, PROTOBUF, own.agentSecret)).status).toBe(200)
    await settle(server)
    const events = await storedEvents(server, own)
    expect(events.map(({ session, body }) => [session, body.content])).toEqual([
      ['chat-2', 'Hello?'],
      ['chat-2', 'Hello.'],
    ])
    expect(events[1]?.body.usage.inputTokens).toBe(5)
  })

  test('a broken character costs no more than itself, in both encodings', async () => {
    const broken = turn('Half an emoji: \ud83d', 'And a NUL: \u0000.')
    const own = await openAgent(server)
    const other = span(2, 5, turn('Q', 'A', { 'gen_ai.conversation.id': 'chat-2' }), {
      traceId: 'ab'.repeat(16),
    })
    expect(parsed(await post(json(requestOf([span(1, 0, broken), other])), {}, own.agentSecret))).toEqual({})
    await settle(server)
    expect((await storedEvents(server, own)).map(({ body }) => body.content)).toEqual([
      'Half an emoji: \ufffd',
      'And a NUL: .',
      'Q',
      'A',
    ])
    const bytes = ProtobufTraceSerializer.serializeRequest([
      binarySpan(
        Object.fromEntries(
          Object.entries(broken).map(([key, value]) => [
            key,
            String(typeof value === 'string' ? value : json(value)),
          ]),
        ),
      ),
    ] as never)
    const second = await openAgent(server)
    expect((await post(bytes as Uint8Array, PROTOBUF, second.agentSecret)).status).toBe(200)
    await settle(server)
    expect((await storedEvents(server, second)).map(({ body }) => body.content)).toEqual([
      'Half an emoji: \ufffd',
      'And a NUL: .',
    ])
  })

  test('user feedback on the answer', async () => {
    const evaluation = {
      name: 'gen_ai.evaluation.result',
      timeUnixNano: at(60),
      attributes: keyValues({
        'gen_ai.evaluation.name': 'user_feedback',
        'gen_ai.evaluation.score.label': 'negative',
        'gen_ai.evaluation.explanation': 'That is wrong.',
      }),
    }
    const events = await store(
      requestOf([
        span(1, 0, turn()),
        span(2, 60, { 'user.id': 'u7' }, { ...parent(1), events: [evaluation] }),
      ]),
    )
    expect(events.map(({ type }) => type)).toEqual(['user_message', 'assistant_message', 'feedback'])
    expect(events[2]).toMatchObject({
      occurredAt: new Date('2026-01-02T08:01:00Z'),
      body: {
        participantExternalId: 'u7',
        feedback: {
          targetEventExternalId: events[1]?.externalEventId,
          rating: 'negative',
          comment: 'That is wrong.',
        },
      },
    })
  })

  test('a trace without a conversation id is a session of its own', async () => {
    const { 'gen_ai.conversation.id': _, ...rest } = turn()
    expect((await store(requestOf([span(1, 0, rest)]))).map(({ session }) => session)).toEqual([TRACE, TRACE])
  })

  test('spans that are no part of a conversation store nothing', async () => {
    const spans = [span(1, 0, { 'http.request.method': 'GET' }), span(2, 0, {}, parent(1))]
    expect(await store(requestOf(spans))).toHaveLength(0)
  })

  test('redaction holds before anything is kept, and content that is not captured is not kept', async () => {
    const request = requestOf([
      span(1, 0, turn('My card is 4111-1111.', 'Thank you, 4111-1111.', { 'user.id': 'u1' })),
    ])
    const sent = async (settings: object) => {
      const own = await openAgent(server, { settings })
      await post(json(request), {}, own.agentSecret)
      const { applicationId } = own
      const [row] = await server.database
        .sql`select spans::text from otlp_piece where application_id = ${applicationId}`
      return String(row?.spans)
    }
    expect(await sent({})).toContain('4111')
    expect(await sent({ redactedPatterns: ['\\d{4}-\\d{4}'] })).not.toContain('4111')
    expect(await sent({ captureContent: false })).not.toContain('card')
    expect(await sent({ redactedFields: ['content'] })).not.toContain('card')
    await settle(server)
  })

  test('an organization without agent chats is refused', async () => {
    const own = await openAgent(server)
    await server.database
      .sql`update organization set agent_chats_enabled = false where id = ${own.organizationId}`
    const answer = await post('{}', {}, own.agentSecret)
    expect([answer.status, parsed(answer).code]).toEqual([404, 5])
  })

  test('making the messages once more changes nothing', async () => {
    const own = await openAgent(server)
    await post(json(requestOf([span(1, 0, turn())])), {}, own.agentSecret)
    await settle(server)
    const before = await storedEvents(server, own)
    await server.database
      .sql`update otlp_trace set due_at = now() where application_id = ${own.applicationId}`
    await settle(server)
    expect(before).toHaveLength(2)
    expect(await storedEvents(server, own)).toEqual(before)
  })

  test('a session that refuses its messages does not hold up the others', async () => {
    const own = await openAgent(server)
    const spans = [
      span(
        1,
        0,
        turn('Q', 'A', { 'user.id': ' ', 'gen_ai.conversation.id': 'bad', 'deployment.environment': 'x' }),
      ),
      span(2, 5, turn('Q', 'A', { 'gen_ai.conversation.id': 'good' }), { traceId: 'ee'.repeat(16) }),
    ]
    await post(json(requestOf(spans)), {}, own.agentSecret)
    // The settings change before the messages are made.
    await own.configure({ allowedEnvironments: ['y'] })
    await settle(server)
    expect(await storedEvents(server, own)).toHaveLength(0)
    const events = [
      span(3, 9, turn('Q', 'A', { 'deployment.environment': 'y' }), { traceId: 'ef'.repeat(16) }),
    ]
    await post(json(requestOf(events)), {}, own.agentSecret)
    await settle(server)
    expect(await storedEvents(server, own)).toHaveLength(2)
  })

  test('spans are forgotten an hour after the last one of their trace', async () => {
    const own = await openAgent(server)
    await post(json(requestOf([span(1, 0, turn())])), {}, own.agentSecret)
    await settle(server)
    const forget = server.features.maintenance.find(({ name }) => name === 'otlp_forget')
    const kept = async () =>
      (await server.database.sql`select 1 from otlp_piece where application_id = ${own.applicationId}`).count
    await forget?.run(new AbortController().signal)
    expect(await kept()).toBe(1)
    await server.database.sql`
      update otlp_trace set last_span_at = now() - interval '61 minutes' where application_id = ${own.applicationId}`
    await forget?.run(new AbortController().signal)
    expect(await kept()).toBe(0)
    expect(await storedEvents(server, own)).toHaveLength(2)
  })

  test('a trace is due when it has settled: later without its root', async () => {
    const own = await openAgent(server)
    const other = { traceId: 'cd'.repeat(16), ...parent(9) }
    await post(json(requestOf([span(1, 0, turn()), span(2, 0, turn(), other)])), {}, own.agentSecret)
    const rows = await server.database.sql<{ wait: number }[]>`
      select extract(epoch from due_at - last_span_at)::float8 as wait
      from otlp_trace where application_id = ${own.applicationId} order by has_root desc`
    expect(rows.map(({ wait }) => Math.round(wait))).toEqual([10, 120])
    await settle(server)
  })
})
