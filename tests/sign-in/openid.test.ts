/** Sign-in with OpenID Connect against a real provider. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createVisitor, type Seen, type Visitor } from '../support/visitor.ts'

const PORT_CALLBACK = '/sign-in/openid/callback'

let base: TestServer
let server: TestServer
let provider: OpenIdProvider
let tenant: TestTenant
let email: string

/** The address of the service is fixed, so that the provider knows it before the service listens. */
const ADDRESS = 'http://earshot.localhost'

beforeAll(async () => {
  base = await startTestServer()
  // As in a database with a locale, where `lower` makes ASCII letters of some others.
  await base.database.sql`alter table app_user alter column email type text collate "und-x-icu"`
  tenant = await base.createTenant()
  email = (await base.features.identity.findUserAnywhere(tenant.userId))?.email ?? ''
  provider = await startOpenIdProvider([`${ADDRESS}${PORT_CALLBACK}`])
  server = await startTestServer({
    beside: base,
    env: {
      ...CLIENT,
      PUBLIC_BASE_URL: ADDRESS,
      OIDC_ISSUER: provider.issuer,
      OIDC_ALLOWED_DOMAINS: 'allowed.example, other.example, Bücher.example',
      OIDC_ORGANIZATION: tenant.organizationId,
      OUTBOUND_ALLOW: '127.0.0.0/8',
    },
  })
})
beforeEach(() => {
  provider.claims = { email, email_verified: true, name: 'Ada' }
  provider.userInfo = {}
  provider.discovery = null
})
afterAll(async () => {
  await server?.stop()
  await provider?.stop()
  await base?.stop()
})

/** The browser at the provider, up to the answer for the service. */
async function atProvider(start: Seen, issuer = provider.issuer): Promise<string> {
  const there = createVisitor(issuer)
  let lastPage = ''
  let seen = await there.get(start.location ?? '')
  for (;;) {
    const { location } = seen
    if (location === null) seen = await there.post(lastPage, {})
    else if (location.startsWith(ADDRESS)) return location.slice(ADDRESS.length)
    else {
      lastPage = location
      seen = await there.get(location)
    }
  }
}
async function signIn(visitor: Visitor, to = ''): Promise<Seen> {
  const start = await visitor.get(`/sign-in/openid${to === '' ? '' : `?to=${encodeURIComponent(to)}`}`)
  expect(start.status).toBe(303)
  return visitor.get(await atProvider(start))
}

describe('sign-in with OpenID Connect', () => {
  test('is offered only where it is configured', async () => {
    expect((await createVisitor(server.baseUrl).get('/sign-in')).text).toContain('/sign-in/openid?')
    expect((await createVisitor(base.baseUrl).get('/sign-in')).text).not.toContain('/sign-in/openid')
    expect((await createVisitor(base.baseUrl).get('/sign-in/openid')).status).toBe(404)
  })

  test('signs a known user in and goes on to the page', async () => {
    const visitor = createVisitor(server.baseUrl)
    const { status, location } = await signIn(visitor, '/docs')
    expect([status, location]).toEqual([303, `${ADDRESS}/docs`])
    const { user } = JSON.parse((await visitor.get('/v3/rest/session')).text)
    expect(user.id).toBe(tenant.userId)
    expect([...visitor.cookies.keys()]).toEqual(['earshot-session'])
  })

  test('asks the provider with PKCE, state and nonce', async () => {
    const { location, setCookies } = await createVisitor(server.baseUrl).get('/sign-in/openid')
    const { searchParams } = new URL(location ?? '')
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(searchParams.get(name)?.length).toBeGreaterThan(40)
    expect(searchParams.get('code_challenge_method')).toBe('S256')
    expect(searchParams.get('redirect_uri')).toBe(`${ADDRESS}${PORT_CALLBACK}`)
    expect(setCookies[0]).toMatch(/^earshot-openid=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
  })

  test.each(['https://evil.example', '//evil.example'])('does not lead to %s', async (to) => {
    expect((await signIn(createVisitor(server.baseUrl), to)).location).toBe(`${ADDRESS}/sign-in`)
  })

  test('refuses an unknown person', async () => {
    provider.claims = { email: 'eve@strange.example', email_verified: true }
    const visitor = createVisitor(server.baseUrl)
    expect((await signIn(visitor)).status).toBe(401)
    expect(visitor.cookies.has('earshot-session')).toBe(false)
  })

  test.each([[false], [undefined], ['false'], [1]])(
    'refuses an address with email_verified %j',
    async (isVerified) => {
      provider.claims = { email, email_verified: isVerified }
      expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
    },
  )

  test('takes an address whose provider writes email_verified as text', async () => {
    provider.claims = { email, email_verified: 'true' }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(303)
  })

  test('asks the userinfo endpoint whether the address of the ID token is verified', async () => {
    provider.claims = { email }
    provider.userInfo = { email_verified: true }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(303)
    provider.userInfo = { email_verified: false }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
  })

  test('takes the address that the userinfo endpoint verifies, not that of the ID token', async () => {
    provider.claims = { email }
    provider.userInfo = { email: 'eve@strange.example', email_verified: true }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
  })

  test('says what to do where the provider names no address', async () => {
    provider.claims = { name: 'Ada' }
    const { status, text } = await signIn(createVisitor(server.baseUrl))
    expect(status).toBe(401)
    expect(text).toContain('The provider names no e-mail address for you.')
  })

  const KNOWN = 'kim@known.example'
  test.each([
    ['a Kelvin sign for a letter', () => KNOWN.replace('k', '\u212a')],
    ['a dotted capital', () => KNOWN.replace('i', '\u0130')],
    ['the id of a user', () => tenant.userId],
    ['U+0000', () => `kim\0${KNOWN}`],
    ['a character that is not seen', () => KNOWN.replace('k', 'k\u200b')],
    ['an address in brackets', () => `<${KNOWN}>`],
    ['two addresses', () => `${KNOWN} ${KNOWN}`],
    ['syntax of a URL in the domain', () => 'eve@allowed.exampl%65'],
  ])('refuses %s where the address should be', async (_, claimed) => {
    const user = { email: KNOWN, name: 'Kim' }
    await base.features.identity.createUser(tenant.organizationId, user).catch(() => {})
    provider.claims = { email: claimed(), email_verified: true, name: 'Eve' }
    const visitor = createVisitor(server.baseUrl)
    expect((await signIn(visitor)).status).toBe(401)
    expect(visitor.cookies.has('earshot-session')).toBe(false)
  })

  test('takes nobody for a user whose address another version stored with other letters', async () => {
    const { sql } = base.database
    const id = crypto.randomUUID()
    await sql`insert into app_user (id, email, name) values (${id}, ${'\u212aurt@known.example'}, 'Kurt')`
    await sql`insert into membership (organization_id, user_id, role) values (${tenant.organizationId}, ${id}, 'viewer')`
    provider.claims = { email: 'kurt@known.example', email_verified: true }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
    provider.claims = { email: '\u212aurt@Known.example', email_verified: true }
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(303)
  })

  test('knows a person by the ASCII form of the domain', async () => {
    const ids = []
    for (const address of ['Ann@xn--bcher-kva.example', 'ann@bücher.example', 'ann@BÜCHER.example']) {
      provider.claims = { email: address, email_verified: true, name: 'Ann' }
      const visitor = createVisitor(server.baseUrl)
      expect((await signIn(visitor)).status).toBe(303)
      ids.push(JSON.parse((await visitor.get('/v3/rest/session')).text).user.id)
    }
    expect(new Set(ids).size).toBe(1)
  })

  test('a member is not added by an address that only looks like another one', async () => {
    const client = server.as({ apiKey: tenant.apiKey })
    for (const address of ['\u212aim@known.example', 'k\u0130m@known.example', 'kim@known.example%2f'])
      expect((await client.post('/v3/rest/members', { email: address })).status).toBe(400)
    const { data } = (await client.get(`/v3/rest/members?limit=100`)).body
    expect(data.filter((one: { email: string }) => /[\u212a\u0130]m@/.test(one.email))).toEqual([])
  })

  test.each(['eve@sub.allowed.example', 'eve@notallowed.example', 'eve@allowed.example.evil.example'])(
    'refuses %s, whose domain only looks like an allowed one',
    async (address) => {
      provider.claims = { email: address, email_verified: true }
      expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
    },
  )

  test('makes an unknown person of an allowed domain a viewer, once', async () => {
    provider.claims = { email: 'New@Allowed.example', email_verified: true, name: 'New' }
    const [one, two] = [createVisitor(server.baseUrl), createVisitor(server.baseUrl)]
    await Promise.all([signIn(one), signIn(two)])
    const [first, second] = [one, two].map((visitor) => visitor.get('/v3/rest/session'))
    const { user, organizations } = JSON.parse((await first)?.text ?? '')
    expect(user).toMatchObject({ email: 'New@Allowed.example', name: 'New' })
    expect(organizations).toMatchObject([{ id: tenant.organizationId, role: 'viewer' }])
    const { body } = await server.as({ apiKey: tenant.apiKey }).get(`/v3/rest/audit?objectId=${user.id}`)
    expect(body.data).toMatchObject([{ action: 'member.created', principal: { kind: 'user', id: user.id } }])
    expect(JSON.parse((await second)?.text ?? '').user.id).toBe(user.id)
  })

  test('makes a person of an allowed domain a viewer whom another organization has added before', async () => {
    const stranger = await server.createTenant()
    const address = 'ceo@allowed.example'
    const answer = await server.as(stranger).post('/v3/rest/members', { email: address, name: 'Whoever' })
    expect(answer.status).toBe(201)
    provider.claims = { email: address, email_verified: true, name: 'Eve' }
    const visitor = createVisitor(server.baseUrl)
    await signIn(visitor)
    const { organizations } = JSON.parse((await visitor.get('/v3/rest/session')).text)
    expect(organizations.map(({ id }: { id: string }) => id)).toEqual([
      stranger.organizationId,
      tenant.organizationId,
    ])
  })

  test('does not add a removed member again', async () => {
    provider.claims = { email: 'gone@allowed.example', email_verified: true }
    const visitor = createVisitor(server.baseUrl)
    await signIn(visitor)
    const { user } = JSON.parse((await visitor.get('/v3/rest/session')).text)
    await server.as({ apiKey: tenant.apiKey }).delete(`/v3/rest/members/${user.id}`)
    expect((await signIn(createVisitor(server.baseUrl))).status).toBe(401)
  })

  test('takes the answer of the provider only in the browser that asked, and once', async () => {
    const visitor = createVisitor(server.baseUrl)
    const callback = await atProvider(await visitor.get('/sign-in/openid'))
    const other = createVisitor(server.baseUrl)
    expect((await other.get(callback)).status).toBe(401)
    await other.get('/sign-in/openid')
    expect((await other.get(callback)).status).toBe(401)
    expect(other.cookies.has('earshot-session')).toBe(false)
    const kept = visitor.cookies.get('earshot-openid') ?? ''
    expect((await visitor.get(callback)).status).toBe(303)
    visitor.cookies.set('earshot-openid', kept)
    expect((await visitor.get(callback)).status).toBe(401)
  })

  test.each([
    ['another state', (url: string) => url.replace(/state=[^&]+/, 'state=x')],
    ['another code', (url: string) => url.replace(/code=[^&]+/, 'code=x')],
    [
      'the answer of another issuer (mix-up)',
      (url: string) => url.replace(/iss=[^&]+/, 'iss=https%3A%2F%2Fevil.example'),
    ],
    ['an error', () => `${PORT_CALLBACK}?error=access_denied`],
    ['nothing', () => PORT_CALLBACK],
  ])('refuses %s', async (_, change) => {
    const visitor = createVisitor(server.baseUrl)
    const callback = await atProvider(await visitor.get('/sign-in/openid'))
    expect((await visitor.get(change(callback))).status).toBe(401)
    expect(visitor.cookies.has('earshot-session')).toBe(false)
  })

  test('refuses an ID token with another nonce', async () => {
    const visitor = createVisitor(server.baseUrl)
    const callback = await atProvider(await visitor.get('/sign-in/openid'))
    const attempt = JSON.parse(
      Buffer.from(visitor.cookies.get('earshot-openid') ?? '', 'base64url').toString(),
    )
    const changed = Buffer.from(JSON.stringify({ ...attempt, nonce: 'x'.repeat(43) })).toString('base64url')
    visitor.cookies.set('earshot-openid', changed)
    expect((await visitor.get(callback)).status).toBe(401)
  })

  test.each(['', 'x', 'e30', Buffer.from('[]').toString('base64url')])(
    'refuses the cookie %j',
    async (cookie) => {
      const visitor = createVisitor(server.baseUrl)
      visitor.cookies.set('earshot-openid', cookie)
      expect((await visitor.get(`${PORT_CALLBACK}?code=x&state=x`)).status).toBe(401)
    },
  )

  test('reaches a provider in a private network only where OUTBOUND_ALLOW allows it: 503', async () => {
    const env = { ...CLIENT, OIDC_ISSUER: provider.issuer }
    const closed = await startTestServer({ beside: base, env })
    try {
      expect((await createVisitor(closed.baseUrl).get('/sign-in/openid')).status).toBe(503)
    } finally {
      await closed.stop()
    }
  })

  /** A service of its own, because the metadata of a provider are kept for an hour. */
  async function withService(
    issuer: string,
    env: Record<string, string>,
    run: (visitor: Visitor) => Promise<void>,
  ) {
    const settings = {
      ...CLIENT,
      PUBLIC_BASE_URL: ADDRESS,
      OIDC_ISSUER: issuer,
      OUTBOUND_ALLOW: '127.0.0.0/8',
    }
    const service = await startTestServer({ beside: base, env: { ...settings, ...env } })
    try {
      await run(createVisitor(service.baseUrl))
    } finally {
      await service.stop()
    }
  }

  test('OIDC_TRUST_EMAIL takes an address of which the provider says nothing, not one that is not verified', async () => {
    await withService(provider.issuer, { OIDC_TRUST_EMAIL: 'true' }, async (visitor) => {
      provider.claims = { email }
      expect((await signIn(visitor)).status).toBe(303)
      provider.claims = { email, email_verified: false }
      expect((await signIn(visitor)).status).toBe(401)
    })
  })

  const without = (name: string) => (metadata: Record<string, unknown>) => {
    const { [name]: _, ...others } = metadata
    return Response.json(others)
  }
  test.each([
    ['answers 500', () => new Response('oops', { status: 500 })],
    ['answers 404', () => new Response('', { status: 404 })],
    ['is no JSON', () => new Response('<html>')],
    ['is another value', () => Response.json(null)],
    [
      'names another issuer',
      (metadata: object) => Response.json({ ...metadata, issuer: 'https://evil.example' }),
    ],
    ['names no issuer', without('issuer')],
    ['has no authorization endpoint', without('authorization_endpoint')],
    [
      'has an authorization endpoint that is no address',
      (metadata: object) => Response.json({ ...metadata, authorization_endpoint: 7 }),
    ],
  ])('is 503 where the discovery of the provider %s', async (_, discovery) => {
    provider.discovery = discovery
    await withService(provider.issuer, {}, async (visitor) => {
      const { status, text } = await visitor.get('/sign-in/openid')
      expect([status, text.includes('sign-in provider')]).toEqual([503, true])
    })
  })

  test.each(['token_endpoint', 'jwks_uri'])('is 503 where the discovery has no %s', async (name) => {
    provider.discovery = without(name)
    await withService(provider.issuer, {}, async (visitor) =>
      expect((await signIn(visitor)).status).toBe(503),
    )
  })

  test.each([
    ['signs ID tokens with a shared secret', { id_token_signed_response_alg: 'HS256' }],
    [
      'encrypts ID tokens',
      { id_token_encrypted_response_alg: 'dir', id_token_encrypted_response_enc: 'A256GCM' },
    ],
  ])('is 503 where the provider %s', async (_, client) => {
    const other = await startOpenIdProvider([`${ADDRESS}${PORT_CALLBACK}`], client)
    try {
      other.claims = { email, email_verified: true }
      await withService(other.issuer, {}, async (visitor) => {
        const start = await visitor.get('/sign-in/openid')
        expect((await visitor.get(await atProvider(start, other.issuer))).status).toBe(503)
      })
    } finally {
      await other.stop()
    }
  })

  test('alone leaves user tokens and the authorization server to the service', async () => {
    expect((await fetch(`${server.baseUrl}/.well-known/oauth-authorization-server`)).status).toBe(200)
    const token = await server.features.identity.createUserToken(tenant.userId, 60)
    expect(await server.features.identity.byToken(token, null)).toMatchObject({ userId: tenant.userId })
  })
})
