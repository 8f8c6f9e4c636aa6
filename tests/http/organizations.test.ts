/** The organization of a key over HTTP: its settings, who may change them, and their effect. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openAgent, userMessage } from '../support/agents.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const PATH = '/v3/rest/organization'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

test('a new organization has every feature enabled and can be read', async () => {
  const { organizationId, apiKey } = await server.createTenant()
  const { status, body } = await server.as({ apiKey }).get(PATH)
  expect({ status, body }).toEqual({
    status: 200,
    body: {
      id: organizationId,
      name: expect.any(String),
      agentChatsEnabled: true,
      recordingAllowed: true,
      timeZone: 'UTC',
      responseCredits: null,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    },
  })
})

test('ingestion is 404 while agent conversations are switched off, even right after use', async () => {
  const agent = await openAgent(server)
  const key = server.as({ apiKey: agent.tenant.apiKey })
  await agent.accept([userMessage(1)])
  const off = await key.patch(PATH, { agentChatsEnabled: false })
  expect(off).toMatchObject({ status: 200, body: { agentChatsEnabled: false, recordingAllowed: true } })
  await agent.refuse('agent_chats_disabled', [userMessage(2)])
  expect((await key.patch(PATH, { agentChatsEnabled: true })).body.agentChatsEnabled).toBe(true)
  await agent.accept([userMessage(2)])
})

test('changes only the given members and only the own organization', async () => {
  const { apiKey } = await server.createTenant()
  const other = await server.createTenant()
  const key = server.as({ apiKey })
  expect((await key.patch(PATH, { recordingAllowed: false })).body).toMatchObject({
    agentChatsEnabled: true,
    recordingAllowed: false,
  })
  expect((await key.patch(PATH, {})).body).toMatchObject({ recordingAllowed: false })
  expect((await key.get(PATH)).body).toMatchObject({ recordingAllowed: false })
  expect((await server.as({ apiKey: other.apiKey }).get(PATH)).body).toMatchObject({ recordingAllowed: true })
})

test('an unknown or malformed member is 400', async () => {
  const { apiKey } = await server.createTenant()
  const key = server.as({ apiKey })
  expect((await key.patch(PATH, { responseCredits: 5 })).body.code).toBe('unknown_member')
  expect((await key.patch(PATH, { agentChatsEnabled: 'no' })).body.code).toBe('validation_failed')
})

test.each(['Mars/Olympus', 'UTC+3', '+02:00', '', 'Europe/Berlin ', 'US/Pacific-New'])(
  'the time zone %j is refused',
  async (timeZone) => {
    const { apiKey } = await server.createTenant()
    const { status, body } = await server.as({ apiKey }).patch(PATH, { timeZone })
    expect({ status, details: body.details }).toMatchObject({ status: 400, details: [{ path: 'timeZone' }] })
    expect((await server.as({ apiKey }).get(PATH)).body.timeZone).toBe('UTC')
  },
)

test('an administrator reads and changes it; an analyst can do neither', async () => {
  const { organizationId, userToken } = await server.createTenant()
  const administrator = server.as({ userToken })
  expect((await administrator.patch(PATH, { agentChatsEnabled: false })).status).toBe(200)
  expect((await administrator.get(PATH)).body).toMatchObject({ agentChatsEnabled: false })
  const analyst = server.as({ userToken: (await server.createUser(organizationId, 'analyst')).userToken })
  expect((await analyst.get(PATH)).status).toBe(403)
  expect((await analyst.patch(PATH, { agentChatsEnabled: true })).status).toBe(403)
  expect((await administrator.get(PATH)).body).toMatchObject({ agentChatsEnabled: false })
})
