/**
 * Authentication of ingestion, and the order of failures 401, 404, 400, 409 (specification, "Authentication" 4 and the
 * agent-ingestion column of "Errors"). Browsers may not ingest: no answer has CORS headers.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { APPEND, INGEST, openAgent, refused, userMessage } from '../support/agents.ts'
import { type Credential, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server.stop())

const disableChats = (organizationId: string) =>
  server.database.sql`update organization set agent_chats_enabled = false where id = ${organizationId}`

describe('401', () => {
  const attempt = async (credential: Credential, headers: Record<string, string> = {}) => {
    const agent = await openAgent(server)
    return refused(server, 'invalid_agent_secret', () =>
      server.as(credential).post(INGEST, agent.request([userMessage(1)]), headers),
    )
  }

  test('without a secret, with WWW-Authenticate naming the header', async () => {
    const answer = await attempt('nobody')
    expect(answer.headers.get('www-authenticate')).toContain('X-Service-Agent-Key')
  })

  test('with an unknown, empty, cut off or padded secret', async () => {
    const { agentSecret } = await openAgent(server)
    for (const secret of [
      'unknown',
      '',
      agentSecret.slice(0, -1),
      `${agentSecret}x`,
      agentSecret.toUpperCase(),
    ])
      await attempt({ agentSecret: secret })
  })

  test('with the organization API key or a user token instead of the secret', async () => {
    const { apiKey, userToken } = await server.createTenant()
    await attempt({ apiKey })
    await attempt({ userToken })
    await attempt({ agentSecret: apiKey })
    await attempt({ apiKey }, { authorization: `Bearer ${userToken}` })
  })

  test('with a revoked secret; the other live secret goes on working', async () => {
    const agent = await openAgent(server)
    const { applications } = server.features
    const second = await applications.createSecret(agent.organizationId, agent.applicationId)
    await agent.accept([userMessage(1)])
    await applications.revokeSecret(agent.organizationId, agent.applicationId, agent.secretId)
    await refused(server, 'invalid_agent_secret', () => agent.send([userMessage(2)]))
    const answer = await server
      .as({ agentSecret: second.agentSecret })
      .post(INGEST, agent.request([userMessage(2)]))
    expect(answer.status).toBe(200)
  })

  test("with the agentKey of another application of the organization: the secret's session is not touched", async () => {
    const agent = await openAgent(server)
    const other = await openAgent(server, { tenant: agent.tenant })
    const answer = await refused(server, 'invalid_agent_secret', () =>
      agent.post(other.request([userMessage(1)])),
    )
    expect(answer.headers.get('www-authenticate')).toContain('X-Service-Agent-Key')
  })

  test('with the agentKey of another application comes before 404 and 400', async () => {
    const agent = await openAgent(server)
    const { agentKey } = await openAgent(server, { tenant: agent.tenant })
    await disableChats(agent.organizationId)
    for (const path of [INGEST, APPEND])
      for (const body of [agent.request([userMessage(1)], { agentKey }), { agentKey }])
        await refused(server, 'invalid_agent_secret', () => agent.client.post(path, body), path)
  })

  test('comes before 404, 400 and 415', async () => {
    const { organizationId } = await openAgent(server)
    await disableChats(organizationId)
    for (const contentType of ['application/json', 'text/plain'])
      await refused(server, 'invalid_agent_secret', () =>
        server.as('nobody').post(INGEST, '{', { 'content-type': contentType }),
      )
  })

  test('no answer contains the secret or its hash', async () => {
    const { agentSecret } = await openAgent(server)
    const answer = await attempt({ agentSecret: `${agentSecret}x` })
    expect(JSON.stringify(answer.body)).not.toContain(agentSecret.slice(0, 12))
  })
})

describe('404', () => {
  test('Agent Chats are not enabled for the workspace; comes before 400 and 409', async () => {
    const agent = await openAgent(server)
    await agent.accept([userMessage(1)])
    await disableChats(agent.organizationId)
    await agent.refuse('agent_chats_disabled', [userMessage(2)])
    await agent.refuse('agent_chats_disabled', [userMessage(1, { content: 'changed' })])
    await agent.refuse('agent_chats_disabled', [])
    await refused(server, 'agent_chats_disabled', () => agent.post('{'))
    await refused(server, 'agent_chats_disabled', () => agent.post('{}', { 'content-type': 'text/plain' }))
  })

  test("an agentKey that no application of the organization has, also another organization's", async () => {
    const agent = await openAgent(server)
    const stranger = await openAgent(server)
    for (const agentKey of ['nobody', stranger.agentKey, agent.agentKey.toUpperCase()]) {
      await agent.refuse('agent_application_not_found', [userMessage(1)], { agentKey })
      await agent.refuse('agent_application_not_found', [], { agentKey })
    }
  })

  test('an absent or invalid agentKey is 400', async () => {
    const agent = await openAgent(server)
    for (const agentKey of [undefined, null, 7, '', '  ', ['x'], {}])
      await agent.refuse('validation_failed', [userMessage(1)], { agentKey })
  })

  test('the secret of a deleted application is refused', async () => {
    const agent = await openAgent(server)
    await server.database.sql`delete from agent_application where id = ${agent.applicationId}`
    const answer = await agent.send([userMessage(1)])
    expect([401, 404]).toContain(answer.status)
  })
})

describe('methods', () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    test(`${method} is 405 with Allow: POST, and no CORS headers`, async () => {
      const answer = await server.as('nobody').send(method, INGEST, {
        headers: {
          origin: 'https://shop.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-service-agent-key',
        },
      })
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('POST')
      if (method !== 'HEAD') expect(answer.body).toMatchObject({ code: 'method_not_allowed', path: INGEST })
      expectNoCors(answer.headers)
    })
  }

  test('6. never from a browser: an answer to a request with Origin has no CORS headers', async () => {
    const agent = await openAgent(server)
    const origin = { origin: 'https://shop.example' }
    const accepted = await agent.post(agent.request([userMessage(1)]), origin)
    const failed = await agent.post('{', origin)
    expect([accepted.status, failed.status]).toEqual([200, 400])
    for (const answer of [accepted, failed]) expectNoCors(answer.headers)
  })
})

function expectNoCors(headers: Headers) {
  expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
}

describe('headers of every answer', () => {
  const LIMIT_HEADERS = [
    'ratelimit-policy',
    'ratelimit',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
  ]

  test("answers return the caller's X-Request-Id, also on errors", async () => {
    const agent = await openAgent(server)
    for (const body of [agent.request([userMessage(1)]), '{'])
      expect((await agent.post(body, { 'x-request-id': 'mine-1' })).headers.get('x-request-id')).toBe(
        'mine-1',
      )
  })

  test('the rate limit counts ingestion per application, and every 200, 400, 404 and 409 has the rate limit headers', async () => {
    const limited = await startTestServer({ env: { RATE_LIMIT_AGENT_INGEST: '5' } })
    try {
      const agent = await openAgent(limited)
      const answers = [
        await agent.send([userMessage(1)]),
        await agent.send([]),
        await agent.send([userMessage(1)], { agentKey: 'nobody' }),
        await agent.send([userMessage(1, { content: 'changed' })]),
        await agent.send([userMessage(1)]),
      ]
      expect(answers.map((answer) => answer.status)).toEqual([200, 400, 404, 409, 200])
      for (const [index, { headers }] of answers.entries()) {
        for (const name of LIMIT_HEADERS) expect(headers.get(name)).not.toBeNull()
        expect(headers.get('x-ratelimit-remaining')).toBe(String(4 - index))
      }
      const over = await refused(limited, 'rate_limited', () => agent.send([userMessage(2)]))
      expect(over.headers.get('retry-after')).toMatch(/^\d+$/)
      for (const name of LIMIT_HEADERS) expect(over.headers.get(name)).not.toBeNull()
      const other = await openAgent(limited, { tenant: agent.tenant })
      expect((await other.send([userMessage(1)])).status).toBe(200)
    } finally {
      await limited.stop()
    }
  })
})
