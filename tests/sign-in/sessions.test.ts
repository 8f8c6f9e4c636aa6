/** Browser sessions: the cookie, forged requests, revocation, and who is signed in. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createVisitor, type Visitor } from '../support/visitor.ts'

let server: TestServer
let second: TestServer
let behindProxy: TestServer
let tenant: TestTenant

const PUBLIC = 'https://earshot.example/voice'

beforeAll(async () => {
  server = await startTestServer()
  second = await startTestServer({ beside: server })
  behindProxy = await startTestServer({ beside: server, env: { PUBLIC_BASE_URL: PUBLIC } })
  tenant = await server.createTenant()
})
afterAll(async () => {
  await behindProxy?.stop()
  await second?.stop()
  await server?.stop()
})

async function signedIn(userId = tenant.userId, on = server): Promise<Visitor> {
  const visitor = createVisitor(on.baseUrl)
  await visitor.signIn(await server.features.identity.createLink(userId))
  return visitor
}

const json = (body: unknown, headers: Record<string, string>) => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json', ...headers },
})

describe('the cookie', () => {
  test('is HttpOnly, SameSite=Lax, for the whole host, and for 30 days', async () => {
    const visitor = createVisitor(server.baseUrl)
    const token = await server.features.identity.createLink(tenant.userId)
    const { setCookies } = await visitor.post('/sign-in/link', { token })
    expect(setCookies).toHaveLength(1)
    const [pair, ...attributes] = setCookies[0]?.split('; ') ?? []
    expect(pair).toMatch(/^earshot-session=ess_[0-9A-Za-z]{43}$/)
    expect(attributes.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
    const [row] = await server.database.sql<{ days: number }[]>`
      select extract(epoch from expires_at - now())::float / 86400 as days
      from user_session order by created_at desc limit 1`
    expect(row?.days).toBeWithin(29.9, 30.1)
  })

  test('is Secure and bound to the host behind https', async () => {
    const visitor = createVisitor(behindProxy.baseUrl)
    const token = await server.features.identity.createLink(tenant.userId)
    const origin = new URL(PUBLIC).origin
    const { setCookies, location } = await visitor.post('/sign-in/link', { token }, { origin })
    expect(location).toBe(`${PUBLIC}/sign-in`)
    const [pair, ...attributes] = setCookies[0]?.split('; ') ?? []
    expect(pair).toStartWith('__Host-earshot-session=ess_')
    expect(attributes.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax', 'Secure'])
    expect((await visitor.get('/v3/rest/session')).status).toBe(200)
    // Without the prefix another host of the same site could have planted it.
    const planted = createVisitor(behindProxy.baseUrl)
    planted.cookies.set('earshot-session', pair?.split('=')[1] ?? '')
    expect((await planted.get('/v3/rest/session')).status).toBe(401)
  })

  test('is stored only as a digest', async () => {
    const visitor = await signedIn()
    const rows = await server.database.sql`select to_jsonb(s)::text as row from user_session s`
    expect(JSON.stringify(rows)).not.toContain(visitor.cookies.get('earshot-session') ?? '-')
  })

  test('that somebody planted before the sign-in is not signed in (session fixation)', async () => {
    const visitor = createVisitor(server.baseUrl)
    const planted = `ess_${'a'.repeat(43)}`
    visitor.cookies.set('earshot-session', planted)
    await visitor.signIn(await server.features.identity.createLink(tenant.userId))
    expect(visitor.cookies.get('earshot-session')).not.toBe(planted)
    const attacker = createVisitor(server.baseUrl)
    attacker.cookies.set('earshot-session', planted)
    expect((await attacker.get('/v3/rest/session')).status).toBe(401)
  })

  test('of an earlier session ends that session at the next sign-in', async () => {
    const visitor = await signedIn()
    const earlier = createVisitor(server.baseUrl)
    earlier.cookies.set('earshot-session', visitor.cookies.get('earshot-session') ?? '')
    await visitor.signIn(await server.features.identity.createLink(tenant.userId))
    expect((await earlier.get('/v3/rest/session')).status).toBe(401)
    expect((await visitor.get('/v3/rest/session')).status).toBe(200)
  })
})

describe('a session', () => {
  test('is the same user as a token: it opens what the user may see, and nothing of others', async () => {
    const visitor = await signedIn()
    const own = await server.as({ userToken: tenant.userToken }).post('/v3/rest/recordings', {})
    const path = `/v3/rest/recordings/${own.body.id}`
    expect((await visitor.get(path)).status).toBe(200)
    const stranger = await signedIn((await server.createTenant()).userId)
    expect((await stranger.get(path)).status).toBe(404)
    const { userId: viewer } = await server.createUser(tenant.organizationId, 'viewer')
    // A viewer is no administrator, and an organization’s key is no part of a session.
    expect((await (await signedIn(viewer)).get('/v3/rest/user-tokens')).status).toBe(403)
  })

  test('tells who is signed in, with every organization', async () => {
    const other = await server.features.identity.createOrganization('Other')
    const { userId } = await server.createUser(tenant.organizationId)
    const user = await server.features.identity.findUserAnywhere(userId)
    await server.features.identity.createUser(other.id, { email: user?.email ?? '', name: 'x' })
    const visitor = await signedIn(userId)
    const { user: shown, organizations, sessionId } = JSON.parse((await visitor.get('/v3/rest/session')).text)
    expect(shown).toEqual({ id: userId, email: user?.email, name: user?.name })
    expect(organizations).toMatchObject([
      { id: tenant.organizationId, role: 'administrator' },
      { id: other.id, role: 'analyst' },
    ])
    expect(sessionId).toBeString()
    // Everything else needs a choice.
    expect((await visitor.get('/v3/rest/recordings')).status).toBe(401)
    const choice = { 'x-service-organization-key': other.id }
    expect((await visitor.get('/v3/rest/recordings', choice)).status).toBe(200)
    const foreign = { 'x-service-organization-key': (await server.createTenant()).organizationId }
    expect((await visitor.get('/v3/rest/members/me', foreign)).status).toBe(401)
  })

  test('does not count beside another credential', async () => {
    const visitor = await signedIn()
    const stranger = await server.createTenant()
    const bearer = { authorization: `Bearer ${stranger.userToken}` }
    const shown = JSON.parse((await visitor.get('/v3/rest/session', bearer)).text)
    expect([shown.user.id, shown.sessionId, shown.csrfToken]).toEqual([stranger.userId, null, null])
    expect((await visitor.get('/v3/rest/session', { authorization: 'Bearer wrong' })).status).toBe(401)
    const key = { 'x-service-api-key': stranger.apiKey }
    const { status } = await visitor.send('POST', '/v3/rest/folders', json({ name: 'F' }, key))
    expect(status).toBe(201)
  })

  test('that a token uses cannot be signed out: 409 session_required', async () => {
    const { status, body } = await server.as({ userToken: tenant.userToken }).delete('/v3/rest/session')
    expect([status, body.code]).toEqual([409, 'session_required'])
  })

  test('ends by signing out, which removes the cookie', async () => {
    const visitor = await signedIn()
    const copy = visitor.cookies.get('earshot-session') ?? ''
    const headers = { 'x-csrf-token': await visitor.csrfToken(), origin: server.baseUrl }
    const { status } = await visitor.send('DELETE', '/v3/rest/session', { headers })
    expect([status, visitor.cookies.size]).toEqual([204, 0])
    visitor.cookies.set('earshot-session', copy)
    expect((await visitor.get('/v3/rest/session')).status).toBe(401)
  })

  test('is listed with the others of its user, and ends from another one, in another process within 5 s', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const [laptop, phone] = [await signedIn(userId), await signedIn(userId, second)]
    const stranger = await signedIn()
    expect((await phone.get('/v3/rest/session')).status).toBe(200)
    const { data } = JSON.parse((await laptop.get('/v3/rest/sessions')).text)
    expect(data.map(({ current }: { current: boolean }) => current)).toEqual([false, true])
    const headers = { 'x-csrf-token': await laptop.csrfToken(), origin: server.baseUrl }
    const path = `/v3/rest/sessions/${data[0].id}`
    const strange = { 'x-csrf-token': await stranger.csrfToken(), origin: server.baseUrl }
    expect((await stranger.send('DELETE', path, { headers: strange })).status).toBe(404)
    expect((await laptop.send('DELETE', path, { headers })).status).toBe(204)
    await eventually(async () => (await phone.get('/v3/rest/session')).status === 401, { deadlineMs: 5_000 })
    expect((await laptop.get('/v3/rest/session')).status).toBe(200)
  })

  test('ends with the tokens of its user', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const visitor = await signedIn(userId)
    await server.features.identity.revokeUserTokensOf(userId)
    const hasEnded = async () => (await visitor.get('/v3/rest/session')).status === 401
    await eventually(hasEnded, { deadlineMs: 5_000 })
    expect((await (await signedIn(userId)).get('/v3/rest/session')).status).toBe(200)
  })

  test('ends with the membership of its user', async () => {
    const { userId } = await server.createUser(tenant.organizationId)
    const visitor = await signedIn(userId)
    expect((await visitor.get('/v3/rest/session')).status).toBe(200)
    expect((await server.as({ apiKey: tenant.apiKey }).delete(`/v3/rest/members/${userId}`)).status).toBe(200)
    expect((await visitor.get('/v3/rest/session')).status).toBe(401)
  })

  test('ends after its time, even where a process remembers it', async () => {
    const visitor = await signedIn()
    const id = JSON.parse((await visitor.get('/v3/rest/session')).text).sessionId
    await server.database.sql`update user_session set expires_at = now() where id = ${id}`
    const again = createVisitor(second.baseUrl)
    again.cookies.set('earshot-session', visitor.cookies.get('earshot-session') ?? '')
    expect((await again.get('/v3/rest/session')).status).toBe(401)
  })
})

describe('a request that changes something', () => {
  const forged: readonly [string, (token: string) => Record<string, string>][] = [
    ['without a token against forgery', () => ({ origin: server.baseUrl })],
    ['with a wrong token', () => ({ origin: server.baseUrl, 'x-csrf-token': 'x'.repeat(43) })],
    ['from another origin', (token) => ({ origin: 'https://evil.example', 'x-csrf-token': token })],
    ['from another port', (token) => ({ origin: 'http://127.0.0.1:1', 'x-csrf-token': token })],
    ['from a page without an origin', (token) => ({ origin: 'null', 'x-csrf-token': token })],
    ['from a program that names no origin', (token) => ({ 'x-csrf-token': token })],
    ['from another site', (token) => ({ 'sec-fetch-site': 'cross-site', 'x-csrf-token': token })],
  ]
  test.each(forged)('%s is 403 csrf_check_failed', async (_, headersOf) => {
    const visitor = await signedIn()
    const headers = headersOf(await visitor.csrfToken())
    const { status, text } = await visitor.send('POST', '/v3/rest/recordings', json({}, headers))
    expect([status, JSON.parse(text).code]).toEqual([403, 'csrf_check_failed'])
  })

  test('from another origin names both and PUBLIC_BASE_URL, which a proxy may need', async () => {
    const visitor = await signedIn()
    const headers = { origin: 'https://earshot.example', 'x-csrf-token': await visitor.csrfToken() }
    const { text } = await visitor.send('POST', '/v3/rest/recordings', json({}, headers))
    for (const part of ['https://earshot.example,', `${server.baseUrl}.`, 'PUBLIC_BASE_URL'])
      expect(JSON.parse(text).message).toContain(part)
  })

  test('with the token of another session is 403', async () => {
    const [visitor, other] = [await signedIn(), await signedIn()]
    const headers = { origin: server.baseUrl, 'x-csrf-token': await other.csrfToken() }
    expect((await visitor.send('POST', '/v3/rest/recordings', json({}, headers))).status).toBe(403)
  })

  test('with the token, from a page of this service, works', async () => {
    const visitor = await signedIn()
    const token = { 'x-csrf-token': await visitor.csrfToken() }
    const pages: Record<string, string>[] = [{ origin: server.baseUrl }, { 'sec-fetch-site': 'same-origin' }]
    for (const from of pages) {
      const created = await visitor.send('POST', '/v3/rest/recordings', json({}, { ...token, ...from }))
      expect(created.status).toBe(201)
    }
  })

  test('to a page needs both, too', async () => {
    const visitor = await signedIn()
    const token = await visitor.csrfToken()
    expect((await visitor.post('/sign-in/out', { csrf_token: 'x' })).status).toBe(403)
    expect((await visitor.post('/sign-in/out', {})).status).toBe(403)
    const evil = { origin: 'https://evil.example' }
    expect((await visitor.post('/sign-in/out', { csrf_token: token }, evil)).status).toBe(403)
    expect((await visitor.get('/v3/rest/session')).status).toBe(200)
    expect((await visitor.post('/sign-in/out', { csrf_token: token })).status).toBe(303)
    expect((await visitor.get('/v3/rest/session')).status).toBe(401)
  })
})

describe('the sign-in page', () => {
  test('has no inline script or style, and its policy allows none', async () => {
    const visitor = await signedIn()
    for (const page of [await visitor.get('/sign-in'), await createVisitor(server.baseUrl).get('/sign-in')]) {
      const policy = page.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(page.headers.get('cache-control')).toBe('no-store')
      expect(page.text).not.toMatch(/<script|<style|\sstyle=|\son\w+=/i)
    }
  })

  test('escapes what a browser calls itself', async () => {
    const visitor = createVisitor(server.baseUrl)
    const token = await server.features.identity.createLink(tenant.userId)
    const headers = { 'user-agent': '<img src=x onerror=alert(1)>' }
    await visitor.post('/sign-in/link', { token }, headers)
    const { text } = await visitor.get('/sign-in')
    expect(text).toContain('&lt;img src=x')
    expect(text).not.toContain('<img')
  })
})
