/** Swagger UI in a real browser: somebody reads /docs, authorises, and sends the first conversation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { BrowserContext } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let application: TestApplication
let chromium: Chromium
let browser: BrowserContext

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId, { agentKey: 'demo' })
  chromium = await startChromium()
  browser = chromium.context
}, 60_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

test('/docs authorises and executes the ingest example, talking to the service only', async () => {
  const page = await browser.newPage()
  const [urls, complaints] = [[] as string[], [] as string[]]
  page.on('request', (request) => urls.push(request.url()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  // A violation of the content security policy is reported here, too.
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  await page.goto(`${server.baseUrl}/docs`)

  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const scheme = page.locator('.auth-container', { hasText: 'X-Service-Agent-Key' })
  await scheme.locator('input').fill(application.agentSecret)
  await scheme.getByRole('button', { name: 'Apply credentials' }).click()
  await page.getByRole('button', { name: 'Close' }).first().click()

  const ingest = page.locator('.opblock', { hasText: '/v3/rest/agent-conversations/ingest' })
  await ingest.locator('.opblock-summary-control').click()
  await ingest.getByRole('button', { name: 'Execute' }).click()
  const live = ingest.locator('.live-responses-table .response')
  expect(await live.locator('.response-col_status').textContent()).toStartWith('200')
  expect(JSON.parse((await live.locator('.highlight-code pre').first().textContent()) ?? '')).toMatchObject({
    acceptedEventCount: 3,
    deduplicatedEventCount: 0,
  })

  expect(urls.filter((url) => url.endsWith('/ingest')).length).toBe(1)
  expect(urls.filter((url) => !url.startsWith(`${server.baseUrl}/`) && !url.startsWith('data:'))).toEqual([])
  expect(complaints).toEqual([])
  const { body } = await server.as({ apiKey: tenant.apiKey }).get('/v3/rest/agent-conversations/sessions')
  expect(body.data).toHaveLength(1)
}, 60_000)

test('/docs keeps the authorisation over a reload', async () => {
  const page = await browser.newPage()
  await page.goto(`${server.baseUrl}/docs`)
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const scheme = page.locator('.auth-container', { hasText: 'X-Service-Agent-Key' })
  await scheme.getByRole('button', { name: 'Remove authorization' }).waitFor()
}, 60_000)
