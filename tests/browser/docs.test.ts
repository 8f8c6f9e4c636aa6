/** Swagger UI in a real browser: a developer reads /docs, authorises, and sends the first conversation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { BrowserContext, Page } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let application: TestApplication
let chromium: Chromium
let browser: BrowserContext
/** Tests share pages, because loading one takes seconds of CPU. The page of a developer, and one of the width of a telephone. */
let page: Page
let narrow: Page

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId, { agentKey: 'demo' })
  chromium = await startChromium()
  browser = chromium.context
}, 180_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

test('/docs authorises and executes the ingest example, talking to the service only', async () => {
  page = await browser.newPage()
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
}, 180_000)

test('/docs keeps the authorisation over a reload', async () => {
  await page.reload()
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const scheme = page.locator('.auth-container', { hasText: 'X-Service-Agent-Key' })
  await scheme.getByRole('button', { name: 'Remove authorization' }).waitFor()
  await page.close()
}, 180_000)

/** Runs in the page. Elements that are wider than the window and are not inside an element that scrolls. */
const BEYOND_THE_WINDOW = `
  const scrolls = (element) => element !== null &&
    (['auto', 'scroll', 'hidden'].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  [...document.querySelectorAll('#swagger-ui *')]
    .filter((element) => element.getBoundingClientRect().width > 0)
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element.parentElement))
    .map((element) => element.tagName + '.' + element.getAttribute('class'))`

/** Runs in the page. Texts whose lines hold little more than one letter. */
const MESSAGE_COLUMNS = `
  const texts = document.createTreeWalker(document.querySelector('#swagger-ui'), NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.textContent.trim();
    if (text.length < 12) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    if (lines > 3 && text.length / lines < 6) found.push(text.slice(0, 60));
  }
  found`

/** Swagger UI renders only what is near the window. The filter finds an operation by its path. */
async function show(page: Page, path: string): Promise<void> {
  await page.getByPlaceholder('Filter by tag or path').fill(path)
  await page.locator('.operations-virtual').waitFor({ state: 'detached' })
}

test('/docs fits a window of 390 pixels: nothing wider, no column of single letters', async () => {
  narrow = await browser.newPage()
  await narrow.addInitScript('localStorage.clear()')
  await narrow.setViewportSize({ width: 390, height: 844 })
  await narrow.goto(`${server.baseUrl}/docs`)
  await narrow.locator('.opblock').first().waitFor()
  const operations = [
    '/v3/rest/agent-conversations/ingest',
    '/v3/rest/signals',
    '/v3/rest/recordings/{recordingId}/transcript',
    '/api/contact',
  ]
  for (const path of operations) {
    await show(narrow, path)
    const block = narrow.locator('.opblock').filter({ has: narrow.locator(`[data-path="${path}"]`) })
    await block.first().locator('.opblock-summary-control').click()
    await block.first().locator('.responses-table').first().waitFor()
  }
  expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390)
  expect(await narrow.evaluate(BEYOND_THE_WINDOW)).toEqual([])
  expect(await narrow.evaluate(MESSAGE_COLUMNS)).toEqual([])
}, 300_000)

test('Authorize opens at the API key', async () => {
  await narrow.getByRole('button', { name: 'Authorize' }).first().click()
  const first = narrow.locator('.dialog-ux .auth-container').first()
  expect(await first.textContent()).toContain('X-Service-Api-Key')
  const scrolled = `document.querySelector('.dialog-ux .modal-ux-content').scrollTop`
  const focused = `document.querySelector('.dialog-ux input') === document.activeElement`
  await eventually(async () =>
    expect([await narrow.evaluate(scrolled), await narrow.evaluate(focused)]).toEqual([0, true]),
  )
  await narrow.close()
}, 120_000)

/**
 * Operations whose examples contain values that must be new. tests/conformance/openapi-rules.test.ts executes the
 * others.
 */
const CREATING = ['/v3/rest/agent-applications', '/v3/rest/metadata/sources', '/v3/rest/recordings']

test('examples can be executed twice; the website comes last', async () => {
  const page = await browser.newPage()
  const answers: string[] = []
  page.on('response', (response) => {
    if (response.request().method() !== 'GET')
      answers.push(`${new URL(response.url()).pathname} ${response.status() < 300}`)
  })
  await page.addInitScript((apiKey) => {
    const schema = { type: 'apiKey', in: 'header', name: 'X-Service-Api-Key' }
    localStorage.setItem('authorized', JSON.stringify({ apiKey: { name: 'apiKey', schema, value: apiKey } }))
  }, tenant.apiKey)
  await page.goto(`${server.baseUrl}/docs`)
  await page.locator('.opblock-tag').first().waitFor()
  const { tags } = (await server.as('nobody').get('/openapi.json')).body
  expect(tags.at(-1).name).toBe('Website')
  const expected: string[] = []
  for (const path of CREATING) {
    await show(page, path)
    const block = page
      .locator('.opblock-post, .opblock-put')
      .filter({ has: page.locator(`[data-path="${path}"]`) })
    await block.locator('.opblock-summary-control').click()
    for (const _ of [1, 2]) {
      expected.push(`${path} true`)
      await block.getByRole('button', { name: 'Execute' }).click()
      await eventually(() => expect(answers).toEqual(expected))
    }
  }
  await page.close()
}, 300_000)
