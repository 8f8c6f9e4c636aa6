/** Administration of agent applications over HTTP: settings and their versions, secrets, usage, order of failures. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'
import { newId } from '../../src/platform/ids.ts'
import { type Agents, startAgents } from '../support/agents-http.ts'

const PATH = '/v3/rest/agent-applications'

let agents: Agents
beforeAll(async () => {
  agents = await startAgents()
})
afterAll(() => agents?.stop())

const key = () => agents.organization.key
const createApplication = (settings?: object) =>
  agents.call(key(), 'POST', PATH, { agentKey: newId(), name: 'Support', settings })

test('create answers 201 with Location and the default settings', async () => {
  const created = await agents.call(key(), 'POST', PATH, { agentKey: 'support', name: '  Support  ' })
  expect(created.status).toBe(201)
  expect(created.headers.get('location')).toBe(`${PATH}/${created.body.id}`)
  expect(created.body).toMatchObject({
    agentKey: 'support',
    name: 'Support',
    settingsVersion: 1,
    settings: DEFAULT_SETTINGS,
  })
  const read = await agents.call(key(), 'GET', `${PATH}/${created.body.id}`)
  expect(read).toMatchObject({ status: 200, body: created.body })
})

test('an agent key is unique in its organization, and free in another', async () => {
  const body = { agentKey: 'unique', name: 'One' }
  expect((await agents.call(key(), 'POST', PATH, body)).status).toBe(201)
  const second = await agents.call(key(), 'POST', PATH, body)
  expect(second).toMatchObject({ status: 409, body: { code: 'name_exists' } })
  expect((await agents.call(agents.stranger.key, 'POST', PATH, body)).status).toBe(201)
})

test('of many concurrent creates of one agent key exactly one is 201, the others are 409', async () => {
  const body = { agentKey: 'contended', name: 'One' }
  const answers = await Promise.all(Array.from({ length: 12 }, () => agents.call(key(), 'POST', PATH, body)))
  expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(11).fill(409)])
})

const name = 'Support'
const access = (value: object) => ({ agentKey: 'k', name, settings: { conversationAccess: value } })
test.each([
  ['agentKey', 'validation_failed', { name }],
  ['agentKey', 'validation_failed', { agentKey: '-dash', name }],
  ['agentKey', 'validation_failed', { agentKey: 'a'.repeat(129), name }],
  ['name', 'validation_failed', { agentKey: 'k', name: '   ' }],
  ['name', 'validation_failed', { agentKey: 'k', name: '😀'.repeat(256) }],
  ['colour', 'unknown_member', { agentKey: 'k', name, colour: 'red' }],
  ['settings.colour', 'unknown_member', { agentKey: 'k', name, settings: { colour: 1 } }],
  [
    'settings.captureContent',
    'validation_failed',
    { agentKey: 'k', name, settings: { captureContent: 'yes' } },
  ],
  ['settings.retentionDays', 'validation_failed', { agentKey: 'k', name, settings: { retentionDays: 0 } }],
  ['settings.retentionDays', 'validation_failed', { agentKey: 'k', name, settings: { retentionDays: 3651 } }],
  [
    'settings.redactedPatterns[1]',
    'validation_failed',
    { agentKey: 'k', name, settings: { redactedPatterns: ['a', '(b'] } },
  ],
  ['settings.conversationAccess.userIds', 'validation_failed', access({ type: 'restricted' })],
  ['settings.conversationAccess.userIds', 'validation_failed', access({ type: 'workspace', userIds: [] })],
  [
    'settings.conversationAccess.userIds[0]',
    'validation_failed',
    access({ type: 'restricted', userIds: ['ada'] }),
  ],
  ['settings.conversationAccess.team', 'unknown_member', access({ type: 'workspace', team: 1 })],
])('create refuses a bad %s with 400 %s', async (path, code, body) => {
  const answer = await agents.call(key(), 'POST', PATH, body)
  expect(answer.status).toBe(400)
  expect(answer.body.code).toBe(code)
  expect(answer.body.details.map((detail: { path: string }) => detail.path)).toContain(path)
})

test('a name may have 255 code points, with any number of UTF-16 units', async () => {
  const longest = '😀'.repeat(255)
  expect(await agents.call(key(), 'POST', PATH, { agentKey: 'emoji', name: longest })).toMatchObject({
    status: 201,
    body: { name: longest },
  })
})

test('conversation access names members of the organization only', async () => {
  const restricted = (userIds: string[]) => ({ conversationAccess: { type: 'restricted', userIds } })
  const { ada } = agents.organization
  const good = await createApplication(restricted([ada.id.toUpperCase(), ada.id]))
  expect(good.body.settings.conversationAccess).toEqual({ type: 'restricted', userIds: [ada.id] })
  const bad = await createApplication(restricted([ada.id, agents.stranger.ada.id]))
  expect(bad.status).toBe(400)
  expect(bad.body.details).toMatchObject([
    { path: 'settings.conversationAccess.userIds[1]', code: 'not_a_member' },
  ])
})

test('PATCH changes the given members and keeps every version', async () => {
  const { body } = await createApplication({ retentionDays: 30, redactedFields: ['password'] })
  const path = `${PATH}/${body.id}`
  const first = await agents.call(key(), 'PATCH', path, { settings: { retentionDays: null } })
  expect(first).toMatchObject({
    status: 200,
    body: { settingsVersion: 2, settings: { retentionDays: null, redactedFields: ['password'] } },
  })
  const named = await agents.call(key(), 'PATCH', path, { name: 'Renamed' })
  expect(named.body).toMatchObject({ name: 'Renamed', settingsVersion: 2 })
  const same = await agents.call(key(), 'PATCH', path, { settings: { retentionDays: null } })
  expect(same.body).toEqual(named.body)
  expect((await agents.call(key(), 'PATCH', path, {})).body).toEqual(named.body)
  const versions = await agents.sql`
    select version, settings ->> 'retentionDays' as retention
    from agent_application_settings
    where application_id = ${body.id}
    order by version`
  expect([...versions]).toEqual([
    { version: 1, retention: '30' },
    { version: 2, retention: null },
  ])
})

test('concurrent PATCHes of different members all take effect, each as its own version', async () => {
  const { body } = await createApplication()
  const changes = [
    { captureContent: false },
    { participantType: 'internal' },
    { allowedEnvironments: ['production'] },
    { retentionDays: 7 },
    { redactedFields: ['password'] },
    { redactedPatterns: ['\\d{16}'] },
    { conversationAccess: { type: 'restricted', userIds: [] } },
    { gapTimeoutSeconds: 60 },
  ]
  const answers = await Promise.all(
    changes.map((settings) => agents.call(key(), 'PATCH', `${PATH}/${body.id}`, { settings })),
  )
  expect(answers.map((answer) => answer.body.settingsVersion).sort()).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  const read = await agents.call(key(), 'GET', `${PATH}/${body.id}`)
  expect(read.body.settings).toEqual(Object.assign({}, ...changes))
  expect(read.body.settingsVersion).toBe(9)
})

test('a PATCH with one bad member changes nothing', async () => {
  const { body } = await createApplication()
  const settings = { retentionDays: 7, redactedPatterns: ['('] }
  const refused = await agents.call(key(), 'PATCH', `${PATH}/${body.id}`, { name: 'New', settings })
  expect(refused.status).toBe(400)
  expect((await agents.call(key(), 'GET', `${PATH}/${body.id}`)).body).toEqual(body)
})

test('a secret is shown once, is good for ingestion, and is refused when deleted', async () => {
  const { body: application } = await createApplication()
  const path = `${PATH}/${application.id}/secrets`
  const created = await agents.call(key(), 'POST', path)
  expect(created.status).toBe(201)
  expect(created.headers.get('location')).toBe(path)
  expect(created.body.secret.startsWith(created.body.prefix)).toBe(true)
  const other = await agents.call(key(), 'POST', path)
  const listed = await agents.call(key(), 'GET', path)
  expect(listed.body.data.map((secret: { id: string }) => secret.id)).toEqual([
    created.body.id,
    other.body.id,
  ])
  expect(JSON.stringify(listed.body)).not.toContain(created.body.secret)
  expect(await agents.identity.byAgentSecret(created.body.secret)).toMatchObject({
    applicationId: application.id,
  })
  const deletion = () => agents.call(key(), 'DELETE', `${path}/${created.body.id}`)
  expect((await deletion()).status).toBe(204)
  expect((await deletion()).status).toBe(204)
  expect(await agents.identity.byAgentSecret(created.body.secret)).toBeNull()
  expect(await agents.identity.byAgentSecret(other.body.secret)).not.toBeNull()
})

test('an application has at most ten live secrets, also when they are created concurrently', async () => {
  const { body } = await createApplication()
  const path = `${PATH}/${body.id}/secrets`
  const answers = await Promise.all(Array.from({ length: 14 }, () => agents.call(key(), 'POST', path)))
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(10)
  expect(answers.filter((answer) => answer.status === 400)).toHaveLength(4)
  const first = answers.find((answer) => answer.status === 201)
  await agents.call(key(), 'DELETE', `${path}/${first?.body.id}`)
  expect((await agents.call(key(), 'POST', path)).status).toBe(201)
})

test('a secret of another application of the organization is 404', async () => {
  const [one, two] = [await createApplication(), await createApplication()]
  const secret = await agents.call(key(), 'POST', `${PATH}/${one.body.id}/secrets`)
  const answer = await agents.call(key(), 'DELETE', `${PATH}/${two.body.id}/secrets/${secret.body.id}`)
  expect(answer).toMatchObject({ status: 404, body: { code: 'agent_secret_not_found' } })
})

test('usage counts the units of a period by UTC day, including days without units', async () => {
  const { body } = await createApplication()
  const moments = [
    '2026-03-01T23:59:59.999999Z',
    '2026-03-02T00:00:00Z',
    '2026-03-02T23:59:59.999999Z',
    '2026-03-04T12:00:00Z',
    '2026-03-05T00:00:00Z',
  ]
  for (const [index, moment] of moments.entries()) {
    await agents.sql`
      insert into agent_usage (organization_id, application_id, session_id, external_event_id, unit, created_at)
      values (${agents.organization.id}, ${body.id}, ${newId()}, ${`e${index}`}, 'agent_response_processed',
        ${moment}::text::timestamptz)`
  }
  const usage = (query: string) => agents.call(key(), 'GET', `${PATH}/${body.id}/usage${query}`)
  const period = await usage('?since=2026-03-02T00:00:00Z&until=2026-03-05T01:00:00%2B01:00')
  expect(period.body).toEqual({
    unit: 'agent_response_processed',
    total: 3,
    from: '2026-03-02T00:00:00.000Z',
    until: '2026-03-05T00:00:00.000Z',
    days: [
      { date: '2026-03-02', count: 2 },
      { date: '2026-03-03', count: 0 },
      { date: '2026-03-04', count: 1 },
    ],
  })
  const midday = await usage('?since=2026-03-01T23:59:59.999Z&until=2026-03-02T12:00:00Z')
  expect(midday.body.days).toEqual([
    { date: '2026-03-01', count: 1 },
    { date: '2026-03-02', count: 1 },
  ])
  expect((await usage('?since=2026-03-02T12:00:00Z&until=2026-03-03T00:00:00Z')).body.total).toBe(1)
  expect((await usage('')).body.days.length).toBeGreaterThanOrEqual(30)
  for (const bad of [
    '?since=2026-02-30T00:00:00Z',
    '?since=2020-01-01T00:00:00Z',
    '?since=2999-01-01T00:00:00Z',
    '?day=1',
  ])
    expect((await usage(bad)).status).toBe(400)
})

test('applications are listed newest first, page by page, or found by agent key', async () => {
  const made: string[] = []
  for (let i = 0; i < 5; i++) made.push((await createApplication()).body.agentKey)
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 3; page++) {
    const { body } = await agents.call(key(), 'GET', `${PATH}?limit=2${cursor}`)
    seen.push(...body.data.map((application: { agentKey: string }) => application.agentKey))
    cursor = `&cursor=${body.next_cursor}`
  }
  expect(seen.slice(0, 5)).toEqual(made.toReversed())
  const found = await agents.call(key(), 'GET', `${PATH}?agentKey=${made[0]}`)
  expect(found.body).toMatchObject({ data: [{ agentKey: made[0] }], has_more: false, next_cursor: null })
})

test('failures come in the order 401, 404, 400, 409', async () => {
  const broken = '{"agentKey":'
  const nobody = { apiKey: 'esk_wrong' }
  const missing = `${PATH}/${newId()}`
  expect((await agents.call(nobody, 'POST', PATH, broken)).status).toBe(401)
  expect((await agents.call(nobody, 'PATCH', missing, broken)).status).toBe(401)
  expect((await agents.call(key(), 'PATCH', missing, broken)).status).toBe(404)
  expect((await agents.call(key(), 'GET', `${missing}/usage?colour=red`)).status).toBe(404)
  const taken = { agentKey: 'taken', name: 'Taken' }
  await agents.call(key(), 'POST', PATH, taken)
  expect((await agents.call(key(), 'POST', PATH, { ...taken, colour: 'red' })).status).toBe(400)
  expect((await agents.call(key(), 'POST', PATH, taken)).status).toBe(409)
})

test('an administrator creates applications and secrets like the organization key', async () => {
  const administrator = agents.organization.ada.caller
  const created = await agents.call(administrator, 'POST', PATH, { agentKey: newId(), name: 'x' })
  expect(created.status).toBe(201)
  const secrets = `${PATH}/${created.body.id}/secrets`
  expect((await agents.call(administrator, 'POST', secrets)).status).toBe(201)
})

test('loadForIngest reads all that ingestion needs of an application', async () => {
  const { body } = await createApplication({ captureContent: false })
  const loaded = await agents.applications.loadForIngest(agents.organization.id, body.id)
  expect(loaded).toEqual({
    agentKey: body.agentKey,
    chatsEnabled: true,
    settingsVersion: 1,
    settings: body.settings,
  })
})

test('an application without sessions is deleted with its secrets; one with sessions is 409 not_empty', async () => {
  const created = (await createApplication()).body
  const path = `${PATH}/${created.id}`
  const { secret } = (await agents.call(key(), 'POST', `${path}/secrets`)).body
  const ingest = (event: string) =>
    agents.call({ agentSecret: secret }, 'POST', '/v3/rest/agent-conversations/ingest', {
      agentKey: created.agentKey,
      externalSessionId: 'one',
      events: [
        {
          externalEventId: event,
          sequence: 1,
          revision: 1,
          occurredAt: '2026-01-02T09:00:00Z',
          type: 'user_message',
        },
      ],
    })
  const { sessionId } = (await ingest('e1')).body
  const refused = await agents.call(key(), 'DELETE', path)
  expect(refused).toMatchObject({ status: 409, body: { code: 'not_empty' } })
  expect((await ingest('e1')).body.deduplicatedEventCount).toBe(1)
  await agents.call(key(), 'DELETE', `/v3/rest/agent-conversations/sessions/${sessionId}`)
  expect((await agents.call(agents.stranger.key, 'DELETE', path)).body.code).toBe(
    'agent_application_not_found',
  )
  expect((await agents.call(key(), 'DELETE', path)).status).toBe(204)
  expect((await agents.call(key(), 'GET', path)).body.code).toBe('agent_application_not_found')
  // The secret is known for a few seconds more in a process that was told nothing; the application is not.
  expect([401, 404]).toContain((await ingest('e2')).status)
  const again = await agents.call(key(), 'POST', PATH, { agentKey: created.agentKey, name: 'Again' })
  expect(again.status).toBe(201)
})

test('an application that is deleted while conversations arrive keeps them, or they are refused', async () => {
  const created = (await createApplication()).body
  const { secret } = (await agents.call(key(), 'POST', `${PATH}/${created.id}/secrets`)).body
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, n) =>
      n === 12
        ? agents.call(key(), 'DELETE', `${PATH}/${created.id}`)
        : agents.call({ agentSecret: secret }, 'POST', '/v3/rest/agent-conversations/ingest', {
            agentKey: created.agentKey,
            externalSessionId: `s${n}`,
            events: [
              {
                externalEventId: 'e',
                sequence: 1,
                revision: 1,
                occurredAt: '2026-01-02T09:00:00Z',
                type: 'user_message',
              },
            ],
          }),
    ),
  )
  const [deleted] = answers.splice(12, 1)
  const stored = answers.filter(({ status }) => status === 200).length
  expect(answers.filter(({ status }) => ![200, 401, 404].includes(status))).toEqual([])
  expect(deleted?.status).toBe(stored === 0 ? 204 : 409)
})

test('an analyst may read applications, and may not change them', async () => {
  const created = (await createApplication()).body
  const user = agents.organization.cleo.caller
  expect((await agents.call(user, 'GET', `${PATH}/${created.id}`)).body).toEqual(created)
  expect((await agents.call(user, 'GET', PATH)).status).toBe(200)
  for (const [method, path] of [
    ['POST', PATH],
    ['PATCH', `${PATH}/${created.id}`],
    ['DELETE', `${PATH}/${created.id}`],
    ['GET', `${PATH}/${created.id}/secrets`],
  ] as const)
    expect((await agents.call(user, method, path, method === 'GET' ? undefined : {})).status).toBe(403)
})
