/** The OAuth authorization server: the whole way of a client to a token, and everything that must not work. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAdapter } from '../../src/access/sign-in/oauth/adapter.ts'
import { eventually } from '../support/eventually.ts'
import {
  authorizePath,
  decide,
  follow,
  newProof,
  type OAuthTokens,
  postForm,
  REDIRECT,
  register,
  registered,
  signedInVisitor,
} from '../support/oauth-client.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createVisitor, type Visitor } from '../support/visitor.ts'

let server: TestServer
let second: TestServer
let tenant: TestTenant
let visitor: Visitor
let clientId: string

beforeAll(async () => {
  server = await startTestServer()
  second = await startTestServer({ beside: server })
  tenant = await server.createTenant()
  visitor = await signedIn(tenant.userId)
  clientId = await registered(server.baseUrl)
})
afterAll(async () => {
  await second?.stop()
  await server?.stop()
})

const audience = () => `${server.baseUrl}/mcp`

async function signedIn(userId: string) {
  return signedInVisitor(server.baseUrl, await server.features.identity.createLink(userId))
}

async function codeFor(challenge: string, change: Record<string, string> = {}, by = visitor) {
  const client = await decide(by, server.baseUrl, authorizePath(clientId, challenge, change))
  return client.searchParams.get('code') ?? ''
}

const exchange = (code: string, verifier: string, change: Record<string, string> = {}) =>
  postForm(server.baseUrl, '/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: REDIRECT,
    code,
    code_verifier: verifier,
    ...change,
  })

const refresh = (refresh_token: string, change: Record<string, string> = {}) =>
  postForm(server.baseUrl, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token,
    ...change,
  })

async function tokens(by = visitor): Promise<OAuthTokens> {
  const { verifier, challenge } = newProof()
  const { status, body } = await exchange(await codeFor(challenge, {}, by), verifier)
  expect(status).toBe(200)
  return body
}

const who = (token: string, on = server) => on.features.identity.byToken(token, null)

/** The answering process refuses it at once; this identity has a cache of its own, like another process. */
const refused = (token: string, on = server) =>
  eventually(async () => 'refused' in (await who(token, on)), { deadlineMs: 5_000 })

describe('the metadata', () => {
  test('names everything that clients look for, with this service as issuer', async () => {
    const response = await fetch(`${server.baseUrl}/.well-known/oauth-authorization-server`)
    const body = (await response.json()) as Record<string, unknown>
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(body).toMatchObject({
      issuer: server.baseUrl,
      authorization_endpoint: `${server.baseUrl}/oauth/authorize`,
      token_endpoint: `${server.baseUrl}/oauth/token`,
      registration_endpoint: `${server.baseUrl}/oauth/register`,
      revocation_endpoint: `${server.baseUrl}/oauth/revoke`,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      grant_types_supported: expect.arrayContaining(['authorization_code', 'refresh_token']),
      token_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: true,
    })
  })

  test('is also behind the root with the path of PUBLIC_BASE_URL, and names addresses below it', async () => {
    const PUBLIC_BASE_URL = 'https://earshot.example/voice'
    const behind = await startTestServer({ beside: server, env: { PUBLIC_BASE_URL } })
    try {
      const path = '/.well-known/oauth-authorization-server'
      for (const address of [path, `${path}/voice`]) {
        const { status, text } = await createVisitor(behind.baseUrl).get(address)
        expect(status).toBe(200)
        expect(JSON.parse(text)).toMatchObject({
          issuer: PUBLIC_BASE_URL,
          token_endpoint: `${PUBLIC_BASE_URL}/oauth/token`,
        })
      }
      expect((await createVisitor(behind.baseUrl).get(`${path}/other`)).status).toBe(404)
      const id = await registered(behind.baseUrl)
      const { status, location, setCookies } = await createVisitor(behind.baseUrl).get(
        authorizePath(id, newProof().challenge),
      )
      expect(status).toBe(303)
      expect(location).toStartWith(`${PUBLIC_BASE_URL}/oauth/interaction/`)
      expect(setCookies.length).toBeGreaterThan(0)
      for (const cookie of setCookies) {
        expect(cookie).toMatch(/httponly/i)
        expect(cookie).toMatch(/samesite=lax/i)
        expect(cookie).toMatch(/secure/i)
      }
    } finally {
      await behind.stop()
    }
  })

  test('does not exist where an issuer outside makes the tokens', async () => {
    const env = {
      OIDC_ISSUER: 'https://issuer.example',
      OIDC_AUDIENCE: 'x',
      OIDC_JWKS_URL: 'https://issuer.example/keys',
    }
    const outside = await startTestServer({ beside: server, env })
    try {
      for (const path of ['/.well-known/oauth-authorization-server', '/oauth/authorize'])
        expect((await fetch(`${outside.baseUrl}${path}`)).status).toBe(404)
      const { access_token } = await tokens()
      expect(await who(access_token, outside)).toHaveProperty('refused')
    } finally {
      await outside.stop()
    }
  })
})

describe('the way of a client', () => {
  test('leads over the sign-in page and the consent page to a token of the user', async () => {
    const browser = createVisitor(server.baseUrl)
    const { verifier, challenge } = newProof()
    const path = authorizePath(clientId, challenge, { resource: audience(), scope: 'tools:read' })
    const login = await follow(browser, await browser.get(path), server.baseUrl)
    expect(login.text).toContain('Sign in to Earshot')
    const to = /name="to" value="([^"]+)"/.exec(login.text)?.[1] ?? ''
    expect(to).toStartWith('/oauth/interaction/')
    const token = await server.features.identity.createLink(tenant.userId)
    const consent = await follow(browser, await browser.post('/sign-in/link', { token, to }), server.baseUrl)
    expect(consent.text).toContain('<strong dir="auto">Agent</strong>')
    expect(consent.text).toContain('this computer (127.0.0.1:4711)')
    expect(consent.text).toContain('Read what you can read')
    expect(consent.text).not.toContain('Change what you can change')
    expect(consent.headers.get('content-security-policy')).toContain(
      "form-action 'self' http://127.0.0.1:4711;",
    )
    const client = await decide(browser, server.baseUrl, to)
    expect(`${client.origin}${client.pathname}`).toBe(REDIRECT)
    expect(client.searchParams.get('state')).toBe('state-1')
    expect(client.searchParams.get('iss')).toBe(server.baseUrl)
    const { status, body, headers } = await exchange(client.searchParams.get('code') ?? '', verifier)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toContain('no-store')
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'tools:read', expires_in: 3600 })
    expect(await who(body.access_token)).toEqual({
      kind: 'user',
      userId: tenant.userId,
      organizationId: tenant.organizationId,
      role: 'administrator',
      audience: audience(),
      scopes: ['tools:read'],
    })
    expect(await who(body.access_token, second)).toMatchObject({ userId: tenant.userId })
  })

  test('without scope and resource gets every scope for the tools', async () => {
    const { access_token, scope } = await tokens()
    expect(scope.split(' ').sort()).toEqual(['tools:read', 'tools:write'])
    expect(await who(access_token)).toMatchObject({
      audience: audience(),
      scopes: ['tools:read', 'tools:write'],
    })
  })

  test('asks the user every time', async () => {
    await tokens()
    const page = await follow(
      visitor,
      await visitor.get(authorizePath(clientId, newProof().challenge)),
      server.baseUrl,
    )
    expect(page.text).toContain('Allow Agent?')
  })

  test('that the user denies ends with access_denied', async () => {
    const path = authorizePath(clientId, newProof().challenge)
    const { searchParams } = await decide(visitor, server.baseUrl, path, 'deny')
    expect([searchParams.get('error'), searchParams.get('code')]).toEqual(['access_denied', null])
  })

  test('acts for the user who is signed in now, not for an earlier one', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const browser = await signedIn(tenant.userId)
    await tokens(browser)
    await browser.signIn(await server.features.identity.createLink(userId))
    expect(await who((await tokens(browser)).access_token)).toMatchObject({ userId })
  })

  test('takes any port of the own machine (RFC 8252)', async () => {
    const { verifier, challenge } = newProof()
    const redirect_uri = 'http://127.0.0.1:5822/callback'
    const client = await decide(visitor, server.baseUrl, authorizePath(clientId, challenge, { redirect_uri }))
    expect(client.port).toBe('5822')
    const code = client.searchParams.get('code') ?? ''
    expect((await exchange(code, verifier, { redirect_uri })).status).toBe(200)
  })
})

describe('an access token', () => {
  test('is refused by the REST API', async () => {
    const { access_token } = await tokens()
    const { status, body, headers } = await server.as({ userToken: access_token }).get('/v3/rest/recordings')
    expect([status, body.code]).toEqual([401, 'unauthenticated'])
    expect(headers.get('www-authenticate')).toContain('error="invalid_token"')
  })

  test('for another resource is not issued', async () => {
    for (const resource of ['https://other.example/mcp', `${server.baseUrl}/v3/rest`, `${server.baseUrl}/`]) {
      const path = authorizePath(clientId, newProof().challenge, { resource })
      const { location } = await visitor.get(path)
      expect(new URL(location ?? '').searchParams.get('error')).toBe('invalid_target')
    }
    const { verifier, challenge } = newProof()
    const code = await codeFor(challenge)
    const { body } = await exchange(code, verifier, { resource: 'https://other.example/mcp' })
    expect(body.error).toBe('invalid_target')
  })

  test('expires', async () => {
    const { access_token } = await tokens()
    await server.database.sql`update oauth_record set expires_at = now() where kind = 'AccessToken'`
    await refused(access_token)
  })

  test('is stored only as a digest, like codes and refresh tokens', async () => {
    const { verifier, challenge } = newProof()
    const code = await codeFor(challenge)
    const { body } = await exchange(code, verifier)
    const rows = await server.database.sql`
      select to_jsonb(r)::text || encode(r.hash, 'escape') as row from oauth_record r where kind <> 'Client'`
    const stored = JSON.stringify(rows)
    for (const secret of [code, verifier, body.access_token, body.refresh_token])
      expect(stored).not.toContain(secret)
  })

  test('ends by revocation (RFC 7009) in every process within 5 s', async () => {
    const { access_token } = await tokens()
    for (const process of [server, second]) expect(await who(access_token, process)).toHaveProperty('userId')
    const { status } = await postForm(server.baseUrl, '/oauth/revoke', {
      client_id: clientId,
      token: access_token,
    })
    expect(status).toBe(200)
    await refused(access_token)
    await refused(access_token, second)
  })

  test('and what a refresh would issue end with the tokens of the user', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const { access_token, refresh_token } = await tokens(await signedIn(userId))
    await server.features.identity.revokeUserTokensOf(userId)
    await refused(access_token)
    expect((await refresh(refresh_token)).body.error).toBe('invalid_grant')
  })

  test('ends with the membership of the user', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const { access_token, refresh_token } = await tokens(await signedIn(userId))
    expect(await who(access_token)).toHaveProperty('userId')
    await server.as({ apiKey: tenant.apiKey }).delete(`/v3/rest/members/${userId}`)
    await refused(access_token)
    expect((await refresh(refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('a code', () => {
  test('with a wrong verifier gives no token', async () => {
    const { challenge } = newProof()
    const { status, body } = await exchange(await codeFor(challenge), newProof().verifier)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
  })

  test('without a verifier gives no token', async () => {
    const { status } = await exchange(await codeFor(newProof().challenge), '')
    expect(status).toBe(400)
  })

  test('with another redirect_uri or of another client gives no token', async () => {
    const { verifier, challenge } = newProof()
    const redirect_uri = 'http://127.0.0.1:4711/other'
    expect((await exchange(await codeFor(challenge), verifier, { redirect_uri })).body.error).toBe(
      'invalid_grant',
    )
    const client_id = await registered(server.baseUrl)
    expect((await exchange(await codeFor(challenge), verifier, { client_id })).body.error).toBe(
      'invalid_grant',
    )
  })

  test('that is used again revokes the tokens that it gave', async () => {
    const { verifier, challenge } = newProof()
    const code = await codeFor(challenge)
    const { body } = await exchange(code, verifier)
    expect(await who(body.access_token)).toHaveProperty('userId')
    expect((await exchange(code, verifier)).body.error).toBe('invalid_grant')
    await refused(body.access_token)
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('gives tokens to one of several parallel requests at most', async () => {
    const { verifier, challenge } = newProof()
    const code = await codeFor(challenge)
    const all = await Promise.all(Array.from({ length: 8 }, () => exchange(code, verifier)))
    expect(all.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    expect(all.filter(({ status }) => status === 400).length).toBeGreaterThanOrEqual(7)
  })

  test('expires after a minute', async () => {
    const { verifier, challenge } = newProof()
    const code = await codeFor(challenge)
    await server.database.sql`
      update oauth_record set payload = payload || '{"exp": 1}'::jsonb where kind = 'AuthorizationCode'`
    expect((await exchange(code, verifier)).body.error).toBe('invalid_grant')
  })
})

test('of parallel uses of a record one succeeds', async () => {
  const { oauthRecords } = server.features.identity
  await oauthRecords.upsert('AuthorizationCode', 'parallel', { jti: 'parallel' }, 60)
  const consume = () => oauthRecords.consume('AuthorizationCode', 'parallel')
  const all = await Promise.all([consume(), consume(), consume(), consume()])
  expect(all.filter(Boolean)).toHaveLength(1)
  const adapter = createAdapter(oauthRecords, 'AuthorizationCode', {
    alreadyUsed: () => new Error('used already'),
    tooManyClients: () => new Error('too many'),
  })
  const outcome = await adapter.consume('parallel').then(
    () => 'used again',
    (error: Error) => error.message,
  )
  expect(outcome).toBe('used already')
})

describe('a refresh token', () => {
  /** As if it had been used a while ago. */
  const age = (seconds: number) => server.database.sql`
    update oauth_record
    set consumed_at = consumed_at - make_interval(secs => ${seconds})
    where kind = 'RefreshToken'`

  test('that two requests of a client use at once, or within seconds, gives each a pair, and ends nothing', async () => {
    const first = await tokens()
    const both = await Promise.all([refresh(first.refresh_token), refresh(first.refresh_token)])
    await age(8)
    const pairs = [...both, await refresh(first.refresh_token)]
    expect(pairs.map(({ status }) => status)).toEqual([200, 200, 200])
    for (const { body } of pairs) {
      expect(await who(body.access_token)).toMatchObject({ audience: audience() })
      expect((await refresh(body.refresh_token)).status).toBe(200)
    }
  })

  test('gives a new pair, and using the old one later revokes everything', async () => {
    const first = await tokens()
    const { status, body } = await refresh(first.refresh_token)
    expect(status).toBe(200)
    expect(body.refresh_token).not.toBe(first.refresh_token)
    expect(await who(body.access_token)).toMatchObject({ audience: audience() })
    await age(11)
    expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant')
    await refused(body.access_token)
    expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('cannot widen the scope or the audience', async () => {
    const { verifier, challenge } = newProof()
    const { body } = await exchange(await codeFor(challenge, { scope: 'tools:read' }), verifier)
    const wider = await refresh(body.refresh_token, { scope: 'tools:read tools:write' })
    expect(wider.body.error).toBe('invalid_scope')
    const other = await refresh(body.refresh_token, { resource: 'https://other.example/mcp' })
    expect(other.body.error).toBe('invalid_target')
  })
})

describe('an authorization request', () => {
  test.each([
    ['an unregistered redirect_uri', { redirect_uri: 'https://evil.example/callback' }],
    ['a redirect_uri with another path', { redirect_uri: 'http://127.0.0.1:4711/callback/../evil' }],
    ['a redirect_uri that only begins like a registered one', { redirect_uri: `${REDIRECT}.evil.example` }],
    ['an unknown client', { client_id: 'unknown' }],
  ])('with %s shows an error page and redirects nowhere', async (_, change) => {
    const path = authorizePath(clientId, newProof().challenge, change as Record<string, string>)
    const { status, location, text, headers } = await visitor.get(path, { accept: 'text/html' })
    expect([status, location]).toEqual([400, null])
    expect(text).toContain('Something went wrong')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test.each([
    ['no challenge', { code_challenge: '', code_challenge_method: '' }],
    ['the challenge method plain', { code_challenge_method: 'plain' }],
    ['the response type token', { response_type: 'token' }],
  ])('with %s is refused', async (_, change) => {
    const path = authorizePath(clientId, newProof().challenge, change as Record<string, string>)
    const { location } = await visitor.get(path)
    const url = new URL(location ?? '')
    const answer = new URLSearchParams(url.search || url.hash.slice(1))
    expect(answer.get('error')).toMatch(/^(?:invalid_request|unsupported_response_type|unauthorized_client)$/)
    expect(answer.get('code') ?? answer.get('access_token')).toBeNull()
  })

  test.each([
    ['no challenge', { code_challenge: '', code_challenge_method: '' }],
    ['the response type token', { response_type: 'token' }],
    ['an error in the fragment', { response_mode: 'fragment', resource: 'https://other.example/mcp' }],
    ['an error in a form', { response_mode: 'form_post', resource: 'https://other.example/mcp' }],
    ['prompt=none', { prompt: 'none' }],
  ])('with %s leads a browser without a session nowhere (open redirect)', async (_, change) => {
    const path = authorizePath(clientId, newProof().challenge, change as Record<string, string>)
    const { status, location, text } = await createVisitor(server.baseUrl).get(path)
    expect([status, location]).toEqual([400, null])
    expect(text).toContain('The request of the application is not accepted')
    expect(text).not.toContain(REDIRECT)
    const client = await visitor.get(path)
    expect(client.location ?? client.text).toContain(REDIRECT)
  })

  test('that fails leads nowhere if its user never allowed the client', async () => {
    const stranger = await registered(server.baseUrl)
    const wrong = { client_id: stranger, resource: 'https://other.example/mcp' }
    const path = authorizePath(clientId, newProof().challenge, wrong)
    const { status, location, text } = await visitor.get(path)
    expect([status, location]).toEqual([400, null])
    expect(text).not.toContain(REDIRECT)
    // Neither does the name of a client that the user has allowed beside it.
    const both = await visitor.get(
      `${authorizePath(stranger, newProof().challenge, wrong)}&client_id=${clientId}`,
    )
    expect([both.status, both.location]).toEqual([400, null])
  })

  test('cannot be allowed from another page, without the token against forgery, or in another browser', async () => {
    const page = await follow(
      visitor,
      await visitor.get(authorizePath(clientId, newProof().challenge)),
      server.baseUrl,
    )
    const action = /action="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const csrf_token = await visitor.csrfToken()
    const evil = { origin: 'https://evil.example' }
    expect((await visitor.post(action, { csrf_token, decision: 'allow' }, evil)).status).toBe(403)
    expect((await visitor.post(action, { decision: 'allow' })).status).toBe(403)
    const victim = await signedIn(tenant.userId)
    const theirs = { csrf_token: await victim.csrfToken(), decision: 'allow' }
    expect((await victim.post(action, theirs)).status).toBe(404)
    expect((await victim.get(action)).status).toBe(404)
  })
})

test('an address that the service has not been asked for before counts as an attempt', async () => {
  const limited = await startTestServer({ beside: server, env: { RATE_LIMIT_SIGN_IN: '2' } })
  try {
    const statuses = []
    for (const host of ['a.example', 'b.example', 'c.example', 'a.example']) {
      const path = '/.well-known/oauth-authorization-server'
      statuses.push((await createVisitor(limited.baseUrl).get(path, { host })).status)
    }
    expect(statuses).toEqual([200, 200, 429, 200])
  } finally {
    await limited.stop()
  }
})

describe('a registration', () => {
  test('makes a public client without a secret', async () => {
    const { status, body, headers } = await register(server.baseUrl, {
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['authorization_code', 'implicit'],
      contacts: ['x'.repeat(1_000)],
    })
    expect(status).toBe(201)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(body).toMatchObject({
      client_name: 'Agent',
      redirect_uris: [REDIRECT],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    })
    for (const member of ['client_secret', 'contacts', 'registration_access_token'])
      expect(body).not.toHaveProperty(member)
  })

  test.each([
    [[]],
    [['http://evil.example/callback']],
    [['javascript:alert(1)']],
    [['data:text/html,x']],
    [['https://app.example/#fragment']],
    [Array(21).fill('https://app.example/')],
    ['https://app.example/'],
    [[1]],
  ])('with redirect_uris %j is refused', async (redirect_uris) => {
    const { status, body } = await register(server.baseUrl, { redirect_uris })
    expect([status, body.error]).toEqual([
      400,
      expect.stringMatching(/^invalid_(?:redirect_uri|client_metadata)$/),
    ])
  })

  test.each([
    ['https://claude.ai/api/mcp/auth_callback'],
    ['http://localhost:33418/'],
    ['cursor://anysphere.cursor-retrieval/oauth/callback'],
  ])('with the redirect_uri %s works', async (uri) => {
    expect((await register(server.baseUrl, { redirect_uris: [uri] })).status).toBe(201)
  })

  test('is limited by client address', async () => {
    const env = { RATE_LIMIT_SIGN_IN: '2', PUBLIC_BASE_URL: 'https://earshot.example' }
    const limited = await startTestServer({ beside: server, env })
    try {
      const statuses = []
      for (let sent = 0; sent < 4; sent++) statuses.push((await register(limited.baseUrl)).status)
      expect(statuses).toEqual([201, 201, 429, 429])
    } finally {
      await limited.stop()
    }
  })

  test('that no user allows is forgotten after a day, another one is kept', async () => {
    const lifetimes = async (id: string) => {
      const hash = new Bun.CryptoHasher('sha256').update(id).digest()
      const [row] = await server.database.sql<{ days: number }[]>`
        select extract(epoch from expires_at - now())::float / 86400 as days
        from oauth_record where kind = 'Client' and hash = ${hash}`
      return row?.days
    }
    await tokens()
    expect(await lifetimes(await registered(server.baseUrl))).toBeWithin(0.9, 1.1)
    expect(await lifetimes(clientId)).toBeWithin(300, 500)
  })

  test('cannot fill the database: beyond 1,000 an hour it is 503', async () => {
    const full = await startTestServer()
    try {
      await full.database.sql`
        insert into oauth_record (kind, hash, payload, expires_at)
        select 'Client', sha256(n::text::bytea), '{}', now() + interval '1 day' from generate_series(1, 997) n`
      // At once, too.
      const answers = await Promise.all(Array.from({ length: 10 }, () => register(full.baseUrl)))
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, ...Array(7).fill(503)])
      const { body, headers } = await register(full.baseUrl)
      expect(body).toMatchObject({ error: 'temporarily_unavailable' })
      expect(headers.get('access-control-allow-origin')).toBe('*')
    } finally {
      await full.stop()
    }
  })
})
