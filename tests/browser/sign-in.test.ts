/** People sign in with a real browser: by a link, with OpenID Connect, and to allow a coding agent. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { BrowserContext, Page } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { authorizePath, newProof, register } from '../support/oauth-client.ts'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'
import { createVisitor } from '../support/visitor.ts'

setDefaultTimeout(300_000)

let server: TestServer
let second: TestServer
let tenant: TestTenant
let provider: OpenIdProvider
let chromium: Chromium
let website: ReturnType<typeof Bun.serve>
let email: string
const redirectUris: string[] = []
const violations: string[] = []

beforeAll(async () => {
  provider = await startOpenIdProvider(redirectUris)
  const env = { ...CLIENT, OIDC_ISSUER: provider.issuer, OUTBOUND_ALLOW: '127.0.0.0/8' }
  server = await startTestServer({ env })
  second = await startTestServer({ beside: server })
  redirectUris.push(`${server.baseUrl}/sign-in/openid/callback`)
  tenant = await server.createTenant()
  email = (await server.features.identity.findUserAnywhere(tenant.userId))?.email ?? ''
  website = Bun.serve({
    port: 0,
    fetch: () => new Response('<title>Elsewhere</title>', { headers: { 'content-type': 'text/html' } }),
  })
  chromium = await startChromium()
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await website?.stop(true)
  await second?.stop()
  await server?.stop()
  await provider?.stop()
})

/** A page of a browser without any session. */
async function newPage(): Promise<Page> {
  const context: BrowserContext = chromium.context
  await context.clearCookies()
  const page = await context.newPage()
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) violations.push(message.text())
  })
  return page
}

async function signInByLink(page: Page): Promise<void> {
  const token = await server.features.identity.createLink(tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${server.baseUrl}/sign-in`)
}

/** What a script of the page sees of a request with the session of the browser. */
function fromPage(page: Page, method: string, path: string, headers: Record<string, string> = {}) {
  return page.evaluate(
    async ({ method, url, headers }) => {
      try {
        const body = method === 'POST' ? { body: '{}' } : {}
        const type: Record<string, string> = method === 'POST' ? { 'content-type': 'application/json' } : {}
        const response = await fetch(url, {
          method,
          credentials: 'include',
          headers: { ...type, ...headers },
          ...body,
        })
        const text = await response.text()
        return { status: response.status, body: text === '' ? null : JSON.parse(text) }
      } catch {
        return { status: 0, body: null }
      }
    },
    { method, url: `${server.baseUrl}${path}`, headers },
  )
}

/** A page of the service whose policy allows requests, unlike that of the sign-in page; without Swagger UI, which takes seconds of CPU. */
async function openApp(page: Page): Promise<void> {
  await page.route('**/swagger-ui-bundle.js', (route) => route.abort())
  await page.goto(`${server.baseUrl}/docs`)
}

test('a person signs in by a link, writes only with the token against forgery, and loses the session when it is revoked elsewhere', async () => {
  const page = await newPage()
  await signInByLink(page)
  expect(await page.locator('strong').first().textContent()).toBe(email)
  await openApp(page)
  const { body: session } = await fromPage(page, 'GET', '/v3/rest/session')
  expect(session.user.email).toBe(email)
  expect(await page.evaluate('document.cookie')).not.toContain('earshot')

  const refused = await fromPage(page, 'POST', '/v3/rest/recordings')
  expect([refused.status, refused.body.code]).toEqual([403, 'csrf_check_failed'])
  const token = { 'x-csrf-token': session.csrfToken }
  expect((await fromPage(page, 'POST', '/v3/rest/recordings', token)).status).toBe(201)

  // The user ends it in another process, from another browser.
  const phone = createVisitor(second.baseUrl)
  await phone.signIn(await second.features.identity.createLink(tenant.userId))
  const headers = { 'x-csrf-token': await phone.csrfToken(), origin: second.baseUrl }
  const ended = await phone.send('DELETE', `/v3/rest/sessions/${session.sessionId}`, { headers })
  expect(ended.status).toBe(204)
  await eventually(async () => (await fromPage(page, 'GET', '/v3/rest/session')).status === 401, {
    deadlineMs: 5_000,
  })
  await page.goto(`${server.baseUrl}/sign-in`)
  expect(await page.title()).toBe('Sign in to Earshot')
  await page.close()
})

test('a person signs in with OpenID Connect, sees the sessions, and signs out', async () => {
  provider.claims = { email, email_verified: true, name: 'Ada' }
  const page = await newPage()
  await page.goto(`${server.baseUrl}/sign-in`)
  await page.getByRole('link', { name: /your organization/ }).click()
  expect(await page.title()).toBe('Provider')
  await page.getByRole('button', { name: 'I am Ada' }).click()
  await page.waitForURL(`${server.baseUrl}/sign-in`)
  expect(await page.title()).toBe('You are signed in')
  expect(await page.getByText('(this one)').count()).toBe(1)
  expect(await page.getByRole('link', { name: 'Open the console' }).getAttribute('href')).toBe('/console')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(`${server.baseUrl}/sign-in`)
  expect(await page.title()).toBe('Sign in to Earshot')
  expect((await chromium.context.cookies()).filter(({ name }) => name === 'earshot-session')).toEqual([])
  await page.close()
})

test('a page of another origin can neither read with the session nor write', async () => {
  const page = await newPage()
  await signInByLink(page)
  const before = await server.database.sql`select 1 from recording`
  // Another port of the same host is the same site, so the browser sends the cookie.
  await page.goto(`http://127.0.0.1:${website.port}/`)
  expect(await fromPage(page, 'GET', '/v3/rest/session')).toEqual({ status: 0, body: null })
  await fromPage(page, 'POST', '/v3/rest/recordings', { 'x-csrf-token': 'x' })
  await page.setContent(`
    <form method="post" action="${server.baseUrl}/v3/rest/recordings" enctype="text/plain"><button>Go</button></form>`)
  const [response] = await Promise.all([
    page.waitForResponse((one) => one.url().endsWith('/v3/rest/recordings')),
    page.getByRole('button', { name: 'Go' }).click(),
  ])
  expect(response.status()).toBe(403)
  // A page that is closed while it changes its origin may never be gone.
  await page.waitForURL('**/v3/rest/recordings')
  expect(await server.database.sql`select 1 from recording`).toEqual(before)
  await page.close()
})

test('a person signs in on the way to allow a coding agent, and the browser goes on to the agent', async () => {
  const page = await newPage()
  const agent = `http://127.0.0.1:${website.port}/callback`
  const { body: client } = await register(server.baseUrl, { redirect_uris: [agent] })
  const change = { redirect_uri: agent }
  await page.goto(`${server.baseUrl}${authorizePath(client.client_id, newProof().challenge, change)}`)
  expect(await page.title()).toBe('Sign in to Earshot')
  provider.claims = { email, email_verified: true }
  await page.getByRole('link', { name: /your organization/ }).click()
  await page.getByRole('button', { name: 'I am Ada' }).click()
  await page.getByRole('heading', { name: 'Allow Agent?' }).waitFor()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(`${agent}?**`)
  expect(new URL(page.url()).searchParams.get('code')).toBeString()
  await page.close()
})

test('no page broke the content security policy', () => {
  expect(violations).toEqual([])
})
