/**
 * Every member of the ingest request (specification, "Agent conversation ingest request" and its tables): it is stored as sent, is
 * required or optional, and is refused with any wrong type. The wrong values are generated from the schema, so a new member is tested
 * as soon as it is added.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { TSchema } from '@sinclair/typebox'
import { IngestRequest } from '../../src/hear/agents/request-model.ts'
import { type Agent, eventRows, type Members, openAgent, sessionRow } from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let agent: Agent
beforeAll(async () => {
  server = await startTestServer()
  agent = await openAgent(server)
})
afterAll(() => server.stop())

const CONTEXT = {
  productArea: 'billing',
  surface: 'help-widget',
  routeTemplate: '/invoices/:id',
  pathname: '/invoices/17',
  entryPoint: 'help-button',
  entityType: 'invoice',
  entityId: '17',
  environment: 'production',
  release: '2026.01',
  properties: { plan: 'pro', seats: 3, trial: false, tags: ['a'], nested: { deep: null } },
}

const PARTICIPANT = {
  externalId: 'ada',
  displayName: 'Ada Lovelace',
  username: 'ada',
  email: 'ada@example.com',
  companyExternalId: 'acme',
  boundary: 'external',
  personId: '0198c1f0-0000-7000-8000-000000000001',
}

const EVENT = {
  externalEventId: 'm2',
  sequence: 2,
  revision: 1,
  occurredAt: '2026-01-02T09:00:04.000Z',
  type: 'assistant_message',
  final: true,
  participantExternalId: 'bot',
  content: [
    { type: 'text', text: 'Under Settings' },
    'and more',
    { type: 'image', url: 'https://x.example' },
  ],
  model: { provider: 'example', name: 'assistant-1' },
  usage: { inputTokens: 212, outputTokens: 11, latencyMs: 830.5 },
  trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' },
  context: { ...CONTEXT, environment: 'staging' },
}

const FEEDBACK_EVENT = {
  externalEventId: 'f3',
  sequence: 3,
  revision: 1,
  occurredAt: '2026-01-02T09:00:20.000Z',
  type: 'feedback',
  final: true,
  participantExternalId: 'ada',
  feedback: {
    targetEventExternalId: 'm2',
    rating: 'negative',
    labels: ['slow', 'wrong'],
    comment: 'Not what I asked.',
  },
}

/** A request with every member of the specification. */
const full = (externalSessionId: string): Members => ({
  agentKey: agent.agentKey,
  externalSessionId,
  status: 'ended',
  agentVersion: 'support-7',
  source: { sdk: 'http', version: '1.2' },
  context: CONTEXT,
  participants: [PARTICIPANT],
  events: [EVENT, FEEDBACK_EVENT],
})

test('every member is stored as it was sent', async () => {
  const answer = await agent.post(full('everything'))
  expect(answer).toMatchObject({ status: 200, body: { acceptedEventCount: 2 } })
  expect(await sessionRow(server.database.sql, answer.body.sessionId)).toMatchObject({
    organization_id: agent.organizationId,
    application_id: agent.applicationId,
    external_session_id: 'everything',
    status: 'ended',
    agent_version: 'support-7',
    source: { sdk: 'http', version: '1.2' },
    context: CONTEXT,
    environment: 'production',
    participants: [PARTICIPANT],
  })
  const { content, model, usage, trace, context, participantExternalId } = EVENT
  expect(await eventRows(server.database.sql, answer.body.sessionId)).toEqual([
    {
      id: 'm2',
      sequence: 2,
      revision: 1,
      type: 'assistant_message',
      final: true,
      occurredAt: new Date(EVENT.occurredAt),
      settingsVersion: 1,
      body: { content, model, usage, trace, context, participantExternalId, visible: true },
    },
    {
      id: 'f3',
      sequence: 3,
      revision: 1,
      type: 'feedback',
      final: true,
      occurredAt: new Date(FEEDBACK_EVENT.occurredAt),
      settingsVersion: 1,
      body: { feedback: FEEDBACK_EVENT.feedback, participantExternalId: 'ada' },
    },
  ])
})

test('every member is returned as it was sent', async () => {
  const { body } = await agent.post(full('read back'))
  const reader = server.as({ apiKey: agent.tenant.apiKey })
  const session = await reader.get(`/v3/rest/agent-conversations/sessions/${body.sessionId}`)
  const { events, ...members } = full('read back')
  expect(session).toMatchObject({ status: 200, body: members })
  expect(session.body.events.data).toMatchObject(events as object[])
})

test('the full request has every member that the schema knows', () => {
  const known = placesOf(IngestRequest).map(({ path }) => path.join('.'))
  const missing = known.filter((path) => !existsIn(full('x'), path.split('.')))
  expect(missing).toEqual([])
  expect(known.length).toBeGreaterThan(50)
})

describe('required members', () => {
  const required = [
    ['agentKey'],
    ['externalSessionId'],
    ['events'],
    ...['externalEventId', 'sequence', 'revision', 'occurredAt', 'type'].map((name) => ['events', '0', name]),
  ]
  for (const path of required) {
    test(`${path.join('.')} is required`, async () => {
      const answer = await refuse(replaced(full('required'), path, undefined))
      expect(answer.body.details).toMatchObject([{ path: readable(path), code: 'required' }])
    })
  }

  test('no other member is required', async () => {
    const { externalEventId, sequence, revision, occurredAt, type } = EVENT
    const answer = await agent.post({
      agentKey: agent.agentKey,
      externalSessionId: 'least',
      events: [{ externalEventId, sequence, revision, occurredAt, type }],
    })
    expect(answer.status).toBe(200)
  })
})

describe('wrong types', () => {
  for (const { path, schema } of placesOf(IngestRequest)) {
    test(`${readable(path)}: every wrong type is 400 and names the place`, async () => {
      for (const wrong of wrongValues(schema)) {
        const answer = await refuse(replaced(full('wrong'), path, wrong))
        expect(answer.body.details[0].path).toStartWith(readable(path))
      }
    })
  }
})

async function refuse(body: unknown) {
  const answer = await agent.post(body)
  expect({ sent: body, status: answer.status, code: answer.body.code }).toEqual({
    sent: body,
    status: 400,
    code: 'validation_failed',
  })
  const rows = await server.database.sql`
    select 1 from agent_session where external_session_id in ('required', 'wrong')`
  expect(rows.length).toBe(0)
  return answer
}

interface Place {
  /** Names and indices; an array is entered at the index at which the full request has the member. */
  readonly path: readonly string[]
  readonly schema: TSchema
}

/** Every member of the schema. Objects and arrays come before their members. */
function placesOf(schema: TSchema, path: readonly string[] = []): readonly Place[] {
  const here = path.length === 0 ? [] : [{ path, schema }]
  if (schema.type === 'array') {
    if (schema.items?.type === undefined) return here
    if (path.join('.') !== 'events') return [...here, ...placesOf(schema.items, [...path, '0'])]
    const { feedback, ...others } = schema.items.properties
    return [...here, ...membersOf(others, [...path, '0']), ...placesOf(feedback, [...path, '1', 'feedback'])]
  }
  return schema.type === 'object' ? [...here, ...membersOf(schema.properties ?? {}, path)] : here
}

function membersOf(properties: Readonly<Record<string, TSchema>>, path: readonly string[]): readonly Place[] {
  return Object.entries(properties).flatMap(([name, member]) => placesOf(member, [...path, name]))
}

/** JSON values of every type that the schema refuses, including null. */
function wrongValues(schema: TSchema): readonly unknown[] {
  const options: readonly TSchema[] = schema.anyOf ?? [schema]
  if (options.every((option) => option.const !== undefined)) return ['', 'OPEN', 5, true, null, [], {}]
  const types = new Set(options.map((option) => option.type))
  return [
    ...(types.has('string') ? [] : ['text', '5', 'true', '']),
    ...(types.has('number') || types.has('integer') ? [-1] : [0, 5]),
    ...(types.has('integer') ? [1.5, 2 ** 53] : []),
    ...(types.has('boolean') ? [] : [true]),
    ...(types.has('array') ? [] : [[], [1]]),
    ...(types.has('object') ? [] : [{}]),
    null,
  ]
}

/** A copy of `value` in which the member at `path` is `wrong`; undefined removes it. */
function replaced(value: unknown, path: readonly string[], wrong: unknown): unknown {
  const [name, ...rest] = path
  if (name === undefined) return wrong
  if (Array.isArray(value)) return value.with(Number(name), replaced(value[Number(name)], rest, wrong))
  const members = value as Members
  return { ...members, [name]: replaced(members[name], rest, wrong) }
}

function existsIn(value: unknown, path: readonly string[]): boolean {
  const [name, ...rest] = path
  if (name === undefined) return value !== undefined
  return typeof value === 'object' && value !== null && existsIn((value as Members)[name], rest)
}

/** `events.0.model` → `events[0].model`. */
function readable(path: readonly string[]): string {
  return path.join('.').replaceAll(/\.(\d+)/g, '[$1]')
}

describe('members without a meaning', () => {
  const PATHS = '/v3/rest/agent-conversations'
  const base = (id: string) => ({ agentKey: agent.agentKey, externalSessionId: id })
  const { externalEventId, type, content } = { ...EVENT, type: 'user_message', content: 'Hi' }
  const unnumbered = { externalEventId, type, content }
  const numbered = { ...unnumbered, sequence: 1, revision: 1, occurredAt: '2026-01-02T03:04:05Z' }

  test('are named in the answer of ingest, and the rest is stored', async () => {
    const { status, body } = await agent.client.post(`${PATHS}/ingest`, {
      ...base('ignored-1'),
      participants: [{ externalId: 'ada', name: 'Ada' }],
      context: { productArea: 'billing', area: 'x', properties: { anything: { goes: 1 } } },
      metadata: { a: 1 },
      events: [
        { ...numbered, content: { any: 'shape' }, role: 'user' },
        { ...numbered, externalEventId: 'm3', sequence: 2, usage: { inputTokens: 1, cost: 2 } },
      ],
    })
    expect([status, body.acceptedEventCount]).toEqual([200, 2])
    expect(body.ignored.toSorted()).toEqual(
      [
        'participants[0].name',
        'context.area',
        'metadata',
        'events[0].role',
        'events[1].usage.cost',
      ].toSorted(),
    )
  })

  test('are named in the answer of append, and sequences are among them', async () => {
    const events = [{ ...unnumbered, sequence: 4 }]
    const { status, body } = await agent.client.post(`${PATHS}/append`, { ...base('ignored-2'), events })
    expect([status, body.ignored]).toEqual([200, ['events[0].sequence']])
  })

  test('are at most 20, with a bounded length each; without any the answer has no such member', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`${'x'.repeat(500)}${index}`, 1]),
    )
    const events = Array.from({ length: 30 }, (_, at) => ({
      ...numbered,
      externalEventId: `n${at}`,
      sequence: at + 1,
      ...many,
    }))
    const { body } = await agent.client.post(`${PATHS}/ingest`, { ...base('ignored-3'), events })
    expect(body.ignored).toHaveLength(20)
    expect(Math.max(...body.ignored.map((path: string) => path.length))).toBeLessThanOrEqual(200)
    const clean = await agent.client.post(`${PATHS}/ingest`, { ...base('ignored-4'), events: [numbered] })
    expect(Object.keys(clean.body)).not.toContain('ignored')
  })
})
