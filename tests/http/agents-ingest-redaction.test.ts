/**
 * Redaction seen from outside (specification, "Application settings"). The test puts a canary into every place of a request that can
 * hold text. Afterwards no row of any table, no log line and no answer contains it. The service runs as a separate process with its
 * worker threads, so the test covers their rows and logs too.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SettingsChange } from '../../src/hear/agents/applications/model.ts'
import type { Sql } from '../../src/platform/db/pool.ts'
import {
  type Agent,
  assistantMessage,
  feedbackOn,
  INGEST,
  type Members,
  openAgent,
  userMessage,
} from '../support/agents.ts'
import { eventually } from '../support/eventually.ts'
import { type Service, useServices } from '../support/process.ts'
import { type Answer, clientOf, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let service: Service
beforeAll(async () => {
  server = await startTestServer()
  service = await services.start({
    env: { DATABASE_URL: server.database.url, LOG_LEVEL: 'debug', WORKER_THREADS: '1' },
  })
})
afterAll(async () => {
  await service.kill()
  await server.stop()
})
const services = useServices()

const CANARY = 'canary-5f2e'
const CARD = 4111111111111111
const SECRET_TEXTS = [CANARY, String(CARD)]

/** A text that contains the canary. */
const text = (what: string) => `${what} ${CANARY} end`

const CONTEXT = {
  productArea: text('area'),
  surface: text('surface'),
  routeTemplate: `/x/${CANARY}`,
  pathname: `/x/${CANARY}?q=${CANARY}`,
  entryPoint: text('entry'),
  entityType: text('type'),
  entityId: CANARY,
  environment: text('environment'),
  release: text('release'),
  properties: {
    [text('a key')]: 1,
    [text('another key')]: 2,
    value: text('value'),
    list: [text('item'), { deep: [[text('deep')]] }],
    card: CARD,
    nested: { [CANARY]: { [CANARY]: CANARY } },
  },
}

/** A conversation with the canary in every place except ids. */
const conversation = (revision: number) => [
  userMessage(1, {
    revision,
    content: text('I was charged twice, this is terrible'),
    context: CONTEXT,
    [text('unknown member')]: CANARY,
  }),
  assistantMessage(2, {
    revision,
    content: [
      { type: 'text', text: text('Sorry about that') },
      { type: 'tool_use', input: { [CANARY]: [CANARY, { number: CARD }] } },
      CANARY,
      [CANARY],
    ],
    model: { provider: text('provider'), name: text('model') },
    trace: { traceId: CANARY, spanId: CANARY },
    context: CONTEXT,
  }),
  userMessage(3, { revision, content: [text('That did not work'), { [CANARY]: null }] }),
  { ...feedbackOn('a2', 4, { comment: text('Wrong answer'), labels: [text('label'), CANARY] }), revision },
]

const SESSION = {
  externalSessionId: 'chat',
  status: 'ended',
  agentVersion: text('version'),
  source: { sdk: text('sdk'), version: text('version') },
  context: CONTEXT,
  participants: [
    {
      externalId: 'ada',
      displayName: text('Ada'),
      username: CANARY,
      email: `${CANARY}@example.com`,
      companyExternalId: text('company'),
    },
  ],
}

const EXPLICIT = 'explicit_feedback'

/** Sends the conversation, a revision, and the conversation again. Reads everything and returns all answers. */
async function converse(agent: Agent): Promise<readonly Answer[]> {
  const client = clientOf(service.baseUrl, { agentSecret: agent.agentSecret })
  const reader = clientOf(service.baseUrl, { apiKey: agent.tenant.apiKey })
  const answers: Answer[] = []
  for (const revision of [1, 1, 2])
    answers.push(await client.post(INGEST, agent.request(conversation(revision), SESSION)))
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200])
  const path = `/v3/rest/agent-conversations/sessions/${answers[0]?.body.sessionId}`
  const session = await eventually(async () => {
    const answer = await reader.get(path)
    return answer.body.processingStatus === 'completed' && answer
  })
  const [signals, revisions] = await Promise.all([
    reader.get(`/v3/rest/signals?sessionId=${session.body.id}`),
    reader.get(`${path}/events/a2/revisions`),
  ])
  expect(revisions.body.data).toHaveLength(2)
  const sources = new Set(signals.body.data.map(({ source }: { readonly source: string }) => source))
  expect(sources).toContain(EXPLICIT)
  return [...answers, session, signals, revisions]
}

describe('no row, log line or answer contains the canary', () => {
  const byName = [
    ...['content', 'comment', 'labels', 'displayName', 'username', 'email', 'companyExternalId', 'name'],
    ...[
      'provider',
      'traceId',
      'spanId',
      'sdk',
      'version',
      'agentVersion',
      'productArea',
      'surface',
      'pathname',
    ],
    ...['routeTemplate', 'entryPoint', 'entityType', 'entityId', 'environment', 'release', 'properties'],
  ]
  const cases: Readonly<Record<string, SettingsChange>> = {
    'a text pattern redacts it': { redactedPatterns: [CANARY, '4111[0-9]+'] },
    'field names redact what holds it, whatever their case': {
      redactedFields: byName.map((name) => name.toUpperCase()),
    },
    'content capture is off and a pattern redacts the rest': {
      captureContent: false,
      redactedPatterns: ['(?i)CANARY-[0-9a-f]{4}', String(CARD)],
    },
  }
  for (const [title, settings] of Object.entries(cases)) {
    test(`where ${title}`, async () => {
      const agent = await openAgent(server, { settings })
      const answers = settings.captureContent === false ? await send(agent) : await converse(agent)
      const shown = answers.map(({ body, headers }) => JSON.stringify([body, [...headers]])).join('\n')
      for (const secret of [...SECRET_TEXTS, agent.agentSecret]) expect(shown).not.toContain(secret)
      await expectNowhere(agent)
    })
  }

  /** Without content there is nothing to wait for. */
  async function send(agent: Agent): Promise<readonly Answer[]> {
    const client = clientOf(service.baseUrl, { agentSecret: agent.agentSecret })
    return [await client.post(INGEST, agent.request(conversation(1), SESSION))]
  }

  test('where the request was refused', async () => {
    const agent = await openAgent(server, { settings: { redactedPatterns: [CANARY] } })
    const client = clientOf(service.baseUrl, { agentSecret: agent.agentSecret })
    const bodies = [
      `{"text": "${CANARY}`,
      `["${CANARY}"]`,
      agent.request([...conversation(1), { ...userMessage(9), sequence: CANARY }], SESSION),
      agent.request([...conversation(1), userMessage(9, { occurredAt: CANARY })], SESSION),
      agent.request([...conversation(1), userMessage(1, { content: text('changed') })], SESSION),
      agent.request(conversation(1), { ...SESSION, status: CANARY }),
      agent.request(conversation(1), { ...SESSION, context: { properties: { [`${CANARY}\0`]: 1 } } }),
    ]
    for (const body of bodies) expect((await client.post(INGEST, body)).status).toBeOneOf([400, 409])
    const query = await client.post(`${INGEST}?q=${CANARY}`, '{')
    expect(query.body.path).toBe(INGEST)
    await expectNowhere(agent)
  })
})

async function expectNowhere(agent: Agent) {
  const rows = await everyRow(server.database.sql, [agent.applicationId])
  expect(rows.length).toBeGreaterThan(10)
  const log = service.output()
  expect(log).toContain(INGEST)
  for (const secret of [...SECRET_TEXTS, agent.agentSecret]) {
    expect(rows.filter((row) => row.includes(secret))).toEqual([])
    expect(log).not.toContain(secret)
  }
}

/** Every row of every table as JSON, without the settings themselves, which hold the patterns. */
async function everyRow(sql: Sql, applications: readonly string[]): Promise<readonly string[]> {
  expect(applications).not.toBeEmpty()
  const tables = await sql<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'agent_application_settings'`
  expect(tables.length).toBeGreaterThan(15)
  const rows = await Promise.all(
    tables.map(({ name }) => sql<{ row: string }[]>`select row_to_json(t)::text as row from ${sql(name)} t`),
  )
  return rows.flat().map(({ row }) => row)
}

describe('what is kept', () => {
  const pattern = { redactedPatterns: [CANARY] }

  test('the text around a match, and every member: names that become equal get a counter', async () => {
    const agent = await openAgent(server, { settings: pattern })
    const { sessionId } = await agent.accept(conversation(1), SESSION)
    const [row] = await server.database.sql<{ body: Members & { context: { properties: Members } } }[]>`
      select body from agent_event where session_id = ${sessionId} and external_event_id = 'u1'`
    expect(row?.body.content).toBe('I was charged twice, this is terrible [redacted] end')
    const { properties } = row?.body.context ?? { properties: {} }
    expect(properties).toMatchObject({
      'a key [redacted] end': 1,
      'another key [redacted] end': 2,
      value: 'value [redacted] end',
    })
    expect(Object.keys(properties)).toHaveLength(Object.keys(CONTEXT.properties).length)
  })

  test('a pattern that would keep a backtracking engine busy for ever ends at once', async () => {
    const agent = await openAgent(server, { settings: { redactedPatterns: ['(a+)+$', '(x|x|x)*y'] } })
    const content = `${'a'.repeat(30_000)}!${'x'.repeat(30_000)}`
    expect(await agent.accept([userMessage(1, { content })])).toMatchObject({ acceptedEventCount: 1 })
  })
})
