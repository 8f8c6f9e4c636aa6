/** Swagger UI in a real browser: a developer reads /docs, authorises, and sends the first conversation. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestApplication, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let application: TestApplication
let chromium: Chromium
/** Tests share the page, because loading it takes seconds of CPU, and opening an operation as well. */
let page: Page

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  application = await server.createApplication(tenant.organizationId, { agentKey: 'demo' })
  chromium = await startChromium()
  page = await chromium.context.newPage()
  page.setDefaultTimeout(300_000)
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

const credential = (header: string) => page.locator('.auth-container', { hasText: header })

/** Opens the dialog of credentials. */
const openAuthorization = () => page.getByRole('button', { name: 'Authorize' }).first().click()

/** Fills in one credential of the open dialog, which it closes. */
async function authorize(header: string, secret: string): Promise<void> {
  const scheme = credential(header)
  await scheme.locator('input').fill(secret)
  await scheme.getByRole('button', { name: 'Apply credentials' }).click()
  await page.getByRole('button', { name: 'Close' }).first().click()
}

const operation = (path: string) =>
  page.locator('.opblock').filter({ has: page.locator(`[data-path="${path}"]`) })

/** Swagger UI renders only what is near the window. The filter finds an operation by its path, which takes seconds of CPU. */
async function show(path: string): Promise<void> {
  await page.getByPlaceholder('Filter by tag or path').fill(path)
  await page.locator('.operations-virtual').waitFor({ state: 'detached' })
}

const INGEST = '/v3/rest/agent-conversations/ingest'

test('/docs authorises and executes the ingest example, talking to the service only', async () => {
  const [urls, complaints] = [[] as string[], [] as string[]]
  page.on('request', (request) => urls.push(request.url()))
  page.on('pageerror', (error) => complaints.push(String(error)))
  // A violation of the content security policy is reported here, too.
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
  await page.goto(`${server.baseUrl}/docs`)

  await openAuthorization()
  await authorize('X-Service-Agent-Key', application.agentSecret)

  const ingest = operation(INGEST)
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
}, 300_000)

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

/** Its path has a parameter, and its answer has objects in lists. */
const DEEP = '/v3/rest/recordings/{recordingId}/transcript'

test('/docs fits a window of 390 pixels: nothing wider, no column of single letters', async () => {
  await page.setViewportSize({ width: 390, height: 844 })
  const paths = [INGEST, ...rounds([DEEP], [DEEP, '/v3/rest/signals', '/api/contact'])]
  for (const path of paths) {
    await show(path)
    const block = operation(path).first()
    // The first test opened its operation, which stays open.
    if (path !== INGEST) await block.locator('.opblock-summary-control').click()
    await block.locator('.responses-table').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(await page.evaluate(BEYOND_THE_WINDOW)).toEqual([])
    expect(await page.evaluate(MESSAGE_COLUMNS)).toEqual([])
  }
}, 600_000)

test('Authorize opens at the API key', async () => {
  await openAuthorization()
  const first = page.locator('.dialog-ux .auth-container').first()
  expect(await first.textContent()).toContain('X-Service-Api-Key')
  const scrolled = `document.querySelector('.dialog-ux .modal-ux-content').scrollTop`
  const focused = `document.querySelector('.dialog-ux input') === document.activeElement`
  await eventually(async () =>
    expect([await page.evaluate(scrolled), await page.evaluate(focused)]).toEqual([0, true]),
  )
  await authorize('X-Service-Api-Key', tenant.apiKey)
}, 300_000)

test('/docs keeps the authorisation over a reload', async () => {
  await page.reload()
  await openAuthorization()
  for (const header of ['X-Service-Agent-Key', 'X-Service-Api-Key'])
    await credential(header).getByRole('button', { name: 'Remove authorization' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).first().click()
}, 300_000)

/**
 * Operations whose examples contain values that must be new. tests/conformance/openapi-rules.test.ts executes the
 * others.
 */
const CREATING = rounds(
  ['/v3/rest/agent-applications'],
  ['/v3/rest/agent-applications', '/v3/rest/metadata/sources', '/v3/rest/recordings'],
)

test('examples can be executed twice; the website comes last', async () => {
  const answers: string[] = []
  page.on('response', (response) => {
    if (response.request().method() !== 'GET')
      answers.push(`${new URL(response.url()).pathname} ${response.status() < 300}`)
  })
  const { tags } = (await server.as('nobody').get('/openapi.json')).body
  expect(tags.at(-1).name).toBe('Website')
  const expected: string[] = []
  for (const path of CREATING) {
    await show(path)
    const block = operation(path).and(page.locator('.opblock-post, .opblock-put'))
    await block.locator('.opblock-summary-control').click()
    for (const _ of [1, 2]) {
      expected.push(`${path} true`)
      await block.getByRole('button', { name: 'Execute' }).click()
      await eventually(() => expect(answers).toEqual(expected))
    }
  }
}, 600_000)
