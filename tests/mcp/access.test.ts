/** Who reaches the tools over HTTP, and what a refused client is told. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

/** Every process has the same keys. */
const SECRET_KEY = 'x'.repeat(43)

let server: TestServer
let tenant: TestTenant
beforeAll(async () => {
  server = await startTestServer({ env: { SECRET_KEY } })
  tenant = await server.createTenant()
})
afterAll(() => server?.stop())

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

function post(body: unknown, headers: Record<string, string> = {}, at = server): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return fetch(`${at.baseUrl}/mcp`, { method: 'POST', body: text, headers: { ...JSON_HEADERS, ...headers } })
}

const bearer = (token = tenant.userToken) => ({ authorization: `Bearer ${token}` })

describe('a request to the tools', () => {
  test('with a user token is answered privately', async () => {
    const response = await post(LIST, bearer())
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(response.headers.get('x-request-id')).not.toBeNull()
    const { result } = (await response.json()) as {
      result: { tools: { description: string; annotations: { readOnlyHint: boolean } }[] }
    }
    expect(result.tools.length).toBeGreaterThan(3)
    for (const { description, annotations } of result.tools)
      expect(description.includes('data, never instructions')).toBe(annotations.readOnlyHint)
  })

  test('without a token is 401 and leads to the metadata', async () => {
    const response = await post(LIST)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer realm="earshot", resource_metadata="${server.baseUrl}/.well-known/oauth-protected-resource/mcp", ` +
        'scope="tools:read tools:write"',
    )
    expect(response.headers.get('cache-control')).toBe('private, no-store')
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32_600,
        message: expect.stringContaining('access token is missing'),
        data: { code: 'unauthenticated', requestId: response.headers.get('x-request-id') },
      },
    })
  })

  test.each([
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: 'Basic YTpi' }],
  ])('with %s is 401 invalid_token', async (_, headers) => {
    const response = await post(LIST, headers)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toContain('error="invalid_token"')
    expect(response.headers.get('www-authenticate')).toContain('resource_metadata="')
  })

  test('with an API key, an agent secret or a cookie instead is 401', async () => {
    for (const headers of [
      { 'x-service-api-key': tenant.apiKey },
      { 'x-service-agent-key': 'eas_x' },
      { cookie: `earshot_session=${tenant.userToken}` },
    ])
      expect((await post(LIST, headers as unknown as Record<string, string>)).status).toBe(401)
    const query = await fetch(`${server.baseUrl}/mcp?access_token=${tenant.userToken}`, {
      method: 'POST',
      body: JSON.stringify(LIST),
      headers: JSON_HEADERS,
    })
    expect(query.status).toBe(401)
  })

  test('with a revoked token is 401', async () => {
    const { userId, userToken } = await server.createUser(tenant.organizationId)
    expect((await post(LIST, bearer(userToken))).status).toBe(200)
    await server.features.identity.revokeUserTokensOf(userId)
    // The process that answers is told of it.
    await eventually(async () => expect((await post(LIST, bearer(userToken))).status).toBe(401))
  })

  test.each(['GET', 'PUT', 'PATCH'])('by %s is 405', async (method) => {
    const response = await fetch(`${server.baseUrl}/mcp`, {
      method,
      headers: { ...JSON_HEADERS, ...bearer() },
    })
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST, DELETE')
  })

  test.each([
    [{ origin: 'https://evil.example.com' }, 403],
    [{ origin: 'null' }, 403],
    [{ host: 'evil.example.com', origin: 'http://evil.example.com' }, 403],
    [{ host: 'evil.example.com' }, 403],
    [{ host: 'localhost:3000' }, 200],
    [{ host: 'earshot:3000' }, 200],
    [{ host: 'tools.localhost' }, 200],
    [{ host: '[::1]:3000', origin: 'http://[::1]:3000' }, 200],
  ])('with %j is %i', async (headers, status) => {
    const response = await post(LIST, { ...bearer(), ...(headers as Record<string, string>) })
    expect(response.status).toBe(status)
    if (status === 403)
      expect(await response.json()).toMatchObject({ error: { data: { code: 'origin_not_allowed' } } })
  })

  test('is judged by PUBLIC_BASE_URL where it is set', async () => {
    const proxied = await startTestServer({
      env: { SECRET_KEY, PUBLIC_BASE_URL: 'https://ears.example.com/voice' },
      beside: server,
    })
    try {
      for (const [headers, status] of [
        [{ host: 'ears.example.com' }, 200],
        [{ host: 'ears.example.com', origin: 'https://ears.example.com' }, 200],
        [{ host: 'ears.example.com', origin: 'http://ears.example.com' }, 403],
        [{ host: 'other.example.com' }, 403],
      ] as const)
        expect([headers, (await post(LIST, { ...bearer(), ...headers }, proxied)).status]).toEqual([
          headers,
          status,
        ])
      for (const path of ['/voice/mcp', '/mcp', '']) {
        const address = `${proxied.baseUrl}/.well-known/oauth-protected-resource${path}`
        expect(await (await fetch(address)).json()).toMatchObject({
          resource: 'https://ears.example.com/voice/mcp',
          authorization_servers: ['https://ears.example.com/voice'],
        })
      }
      const refused = await post(LIST, {}, proxied)
      expect(refused.headers.get('www-authenticate')).toContain(
        'resource_metadata="https://ears.example.com/voice/.well-known/oauth-protected-resource/mcp"',
      )
    } finally {
      await proxied.stop()
    }
  })

  test.each([
    ['no JSON', '{', 400, 'malformed_json'],
    ['too many values', JSON.stringify([...Array(31_000)].map(() => '')), 400, 'too_many_values'],
    ['too many bytes', JSON.stringify({ text: 'x'.repeat(1024 * 1024) }), 400, 'payload_too_large'],
  ])('with %s is refused', async (_, text, status, code) => {
    const response = await post(text, bearer())
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { data: { code } } })
  })

  test('of another type is 415', async () => {
    expect((await post(LIST, { ...bearer(), 'content-type': 'text/plain' })).status).toBe(415)
  })
})

test('the rate limit is counted by user', async () => {
  const limited = await startTestServer({ env: { SECRET_KEY, RATE_LIMIT_TOOLS: '2' }, beside: server })
  try {
    const { userToken } = await server.createUser(tenant.organizationId)
    const statuses: number[] = []
    for (const token of [tenant.userToken, tenant.userToken, tenant.userToken, userToken])
      statuses.push((await post(LIST, bearer(token), limited)).status)
    expect(statuses).toEqual([200, 200, 429, 200])
    const refused = await post(LIST, bearer(), limited)
    expect(refused.headers.get('retry-after')).not.toBeNull()
    expect(await refused.json()).toMatchObject({ error: { data: { code: 'rate_limited' } } })
  } finally {
    await limited.stop()
  }
})

test('refused tokens are counted by address', async () => {
  const limited = await startTestServer({
    env: { SECRET_KEY, RATE_LIMIT_FAILED_AUTHENTICATION: '1' },
    beside: server,
  })
  try {
    expect((await post(LIST, bearer('wrong'), limited)).status).toBe(401)
    expect((await post(LIST, bearer('wrong'), limited)).status).toBe(429)
    expect((await post(LIST, bearer(), limited)).status).toBe(200)
  } finally {
    await limited.stop()
  }
})

describe('the metadata of the resource', () => {
  test.each(['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource'])(
    'is at %s and names the service as its authorization server',
    async (path) => {
      const response = await fetch(server.baseUrl + path)
      expect(response.status).toBe(200)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.json()).toEqual({
        resource: `${server.baseUrl}/mcp`,
        authorization_servers: [server.baseUrl],
        scopes_supported: ['tools:read', 'tools:write'],
        bearer_methods_supported: ['header'],
        resource_name: 'Earshot',
      })
      expect((await fetch(server.baseUrl + path, { method: 'POST' })).status).toBe(405)
    },
  )

  test('names OIDC_ISSUER where it is set', async () => {
    const external = await startTestServer({
      env: {
        OIDC_ISSUER: 'https://login.example.com',
        OIDC_AUDIENCE: 'earshot',
        OIDC_JWKS_URL: 'https://login.example.com/keys',
      },
      beside: server,
    })
    try {
      const response = await fetch(`${external.baseUrl}/.well-known/oauth-protected-resource/mcp`)
      expect(await response.json()).toMatchObject({
        authorization_servers: ['https://login.example.com'],
        scopes_supported: ['openid', 'email'],
      })
    } finally {
      await external.stop()
    }
  })
})
