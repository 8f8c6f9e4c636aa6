/** Tokens of OAuth clients: issued for this resource, with the scopes that the call needs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createBodyBudget } from '../../src/http/body-budget.ts'
import { createHttpApp } from '../../src/http/http-app.ts'
import type { UserPrincipal } from '../../src/kernel/principal.ts'
import { AppError } from '../../src/platform/errors.ts'
import { assertScope, createAuthorize } from '../../src/tell/mcp/http/authorize.ts'
import { toolEndpoint } from '../../src/tell/mcp/http/endpoint.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const CONFIG = { publicBaseUrl: 'https://ears.example.com', oidc: null }
const USER = { kind: 'user', organizationId: 'o', userId: 'u', role: 'analyst' } as const
const request = () =>
  new Request('https://ears.example.com/mcp', { headers: { authorization: 'Bearer abc' } })

const authorize = (principal: UserPrincipal) =>
  createAuthorize({
    config: CONFIG,
    identity: { byToken: async () => principal },
    countFailure: async () => ({}),
  })(request(), null)

describe('a token', () => {
  test('for this resource, or for all, is accepted', async () => {
    for (const principal of [USER, { ...USER, audience: 'https://ears.example.com/mcp' }])
      expect(await authorize(principal)).toEqual(principal)
  })

  test.each(['https://ears.example.com', 'https://ears.example.com/mcp/', 'https://other.example.com/mcp'])(
    'for %s is 401',
    async (audience) => {
      const error = await authorize({ ...USER, audience }).catch((reason: AppError) => reason)
      expect(error).toMatchObject({ code: 'unauthenticated' })
      expect((error as AppError).headers['www-authenticate']).toContain('error="invalid_token"')
    },
  )
})

describe('the scopes of a token', () => {
  const scopeError = (scopes: readonly string[] | undefined, changes: boolean): AppError | null => {
    try {
      assertScope(request(), CONFIG, scopes === undefined ? USER : { ...USER, scopes }, changes)
      return null
    } catch (error) {
      return error as AppError
    }
  }

  test.each([
    [undefined, true, true],
    [undefined, false, true],
    [['tools:read'], false, true],
    [['tools:read', 'tools:write'], true, true],
    [['tools:read'], true, false],
    [['tools:write'], false, false],
    [[], false, false],
  ])('%j: a call that changes something: %p, allowed: %p', (scopes, changes, allowed) => {
    const error = scopeError(scopes, changes)
    expect(error === null).toBe(allowed)
    if (error !== null) expect(error).toBeInstanceOf(AppError)
  })

  test('that do not suffice are 403 with the scopes to ask for', () => {
    const error = scopeError(['tools:read'], true)
    expect(error?.code).toBe('insufficient_scope')
    expect(error?.headers['www-authenticate']).toBe(
      'Bearer realm="earshot", error="insufficient_scope", error_description="The access token lacks the scope tools:write.", ' +
        'resource_metadata="https://ears.example.com/.well-known/oauth-protected-resource/mcp", scope="tools:read tools:write"',
    )
  })
})

describe('a client whose token has the scope tools:read only', () => {
  let server: TestServer
  let tenant: TestTenant
  let app: ReturnType<typeof startNarrow>
  beforeAll(async () => {
    server = await startTestServer()
    tenant = await server.createTenant()
    app = startNarrow()
  })
  afterAll(async () => {
    await app?.stop(true)
    await server?.stop()
  })

  /** The endpoint, with an identity that narrows each token. */
  function startNarrow() {
    const { deps, features } = server
    const byToken = async (token: string, wanted: string | null) => {
      const found = await features.identity.byToken(token, wanted)
      return 'refused' in found ? found : { ...found, scopes: ['tools:read'] }
    }
    const identity = { ...features.identity, byToken } as typeof features.identity
    const bodies = createBodyBudget({ maxBytes: 1e6, deadlineMs: 1e4 })
    const endpoint = toolEndpoint({ ...deps, tools: features.tools, identity, bodies })
    return createHttpApp(deps).use(endpoint).listen({ hostname: '127.0.0.1', port: 0 })
  }

  const call = (name: string, args: object) =>
    fetch(`http://127.0.0.1:${app.server?.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${tenant.userToken}`,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    })

  test('reads, and is asked for more before it changes something', async () => {
    const reading = await call('get-project', { publicId: crypto.randomUUID() })
    expect(reading.status).toBe(200)
    const changing = await call('create-project', { name: 'a', userApproved: true })
    expect(changing.status).toBe(403)
    expect(changing.headers.get('www-authenticate')).toContain('scope="tools:read tools:write"')
    expect(await changing.json()).toMatchObject({ error: { data: { code: 'insufficient_scope' } } })
  })
})

test('a process that stops ends calls that wait for a user', async () => {
  const server = await startTestServer()
  const { deps, features } = server
  const { userToken } = await server.createTenant()
  const bodies = createBodyBudget({ maxBytes: 1e6, deadlineMs: 1e4 })
  const app = createHttpApp(deps)
    .use(toolEndpoint({ ...deps, ...features, bodies }))
    .listen({ hostname: '127.0.0.1', port: 0 })
  const send = (message: object, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${app.server?.port}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: `Bearer ${userToken}`,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    })
  try {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'test', version: '1' },
    }
    const started = await send({ method: 'initialize', params })
    const session = { 'mcp-session-id': started.headers.get('mcp-session-id') ?? '' }
    const call = { method: 'tools/call', params: { name: 'create-project', arguments: { name: 'a' } } }
    const waiting = await send(call, session)
    const ended = waiting.text()
    await features.tools.stop()
    expect(await ended).toContain('elicitation/create')
  } finally {
    await app.stop(true)
    await server.stop()
  }
})
