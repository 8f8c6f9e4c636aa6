/** Pages of another origin call the REST API in a real browser. A page may send a user's token but not a key. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let chromium: Chromium
let website: ReturnType<typeof Bun.serve>
let page: Page

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  website = Bun.serve({
    port: 0,
    fetch: () => new Response('<title>Shop</title>', { headers: { 'content-type': 'text/html' } }),
  })
  chromium = await startChromium()
  page = await chromium.context.newPage()
  await page.goto(`http://localhost:${website.port}/`)
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await website?.stop(true)
  await server?.stop()
})

/** What the page's script can read of a response: status, request id and Location, or that the browser blocked it. */
function fromPage(method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const request = { url: `${server.baseUrl}${path}`, method, headers, body: body === undefined ? null : body }
  return page.evaluate(async ({ url, method, headers, body }) => {
    try {
      const response = await fetch(url, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        ...(body === null ? {} : { body: JSON.stringify(body) }),
      })
      const { status } = response
      return {
        status,
        hasRequestId: response.headers.has('x-request-id'),
        location: response.headers.get('location'),
      }
    } catch {
      return 'refused by the browser'
    }
  }, request)
}

test('a page creates a recording with the token of its user and reads where it is', async () => {
  const seen = await fromPage(
    'POST',
    '/v3/rest/recordings',
    { authorization: `Bearer ${tenant.userToken}` },
    {},
  )
  expect(seen).toEqual({
    status: 201,
    hasRequestId: true,
    location: expect.stringContaining('/v3/rest/recordings/'),
  })
})

test('a page reads why it was refused, too', async () => {
  const seen = await fromPage('GET', '/v3/rest/recordings', { authorization: 'Bearer nonsense' })
  expect(seen).toEqual({ status: 401, hasRequestId: true, location: null })
})

test.each([
  ['GET', '/v3/rest/recordings', 'x-service-api-key'],
  ['POST', '/v3/rest/agent-conversations/ingest', 'x-service-agent-key'],
  ['POST', '/v3/rest/feedback/sources', 'x-service-api-key'],
])('%s %s from a page with %s is refused by the browser', async (method, path, header) => {
  const seen = await fromPage(method, path, { [header]: tenant.apiKey }, method === 'GET' ? undefined : {})
  expect(seen).toBe('refused by the browser')
})
