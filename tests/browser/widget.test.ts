/** The widget on a page of another origin, under a strict Content-Security-Policy, in a real browser. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { feedbackIdOf } from '../../src/hear/agents/ingest/visitor-feedback.ts'
import { FORMS } from '../../src/hear/website/model.ts'
import { expectNoViolations } from '../support/accessibility.ts'
import { assistantMessage, eventRows, userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { openPage, type PageOfAgent } from '../support/widget.ts'

setDefaultTimeout(300_000)

let server: TestServer
let chromium: Chromium
let shop: ReturnType<typeof Bun.serve>
let sender: PageOfAgent
let page: Page
const complaints: string[] = []

/** The only sources that docs/widget.md asks a page to allow. */
const policy = () =>
  `default-src 'none'; script-src ${server.baseUrl}; connect-src ${server.baseUrl}; require-trusted-types-for 'script'; img-src data:`

beforeAll(async () => {
  server = await startTestServer({ actors: { retryBaseMs: 20 } })
  shop = Bun.serve({
    port: 0,
    fetch(request) {
      const { searchParams } = new URL(request.url)
      const html = `<!doctype html><html lang="en"><head><title>Shop</title><link rel="icon" href="data:,">
        <script src="${server.baseUrl}/widget/earshot.js" data-key="${searchParams.get('key')}" defer></script></head>
        <body><main><h1>Shop</h1>${searchParams.get('body')}</main></body></html>`
      return new Response(html, {
        headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy() },
      })
    },
  })
  sender = await openPage(server, [`http://localhost:${shop.port}`])
  chromium = await startChromium()
  page = await chromium.context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
}, 300_000)
afterAll(async () => {
  await chromium?.stop()
  await shop?.stop(true)
  await server?.stop()
})

async function show(body: string, { key = sender.key, host = 'localhost' } = {}) {
  complaints.length = 0
  const query = new URLSearchParams({ key, body })
  await page.goto(`http://${host}:${shop.port}/?${query}`)
}

async function answered(externalSessionId: string): Promise<string> {
  const events = [userMessage(1), assistantMessage(2)]
  return (await sender.agent.accept(events, { externalSessionId })).sessionId
}

async function storedFeedback(sessionId: string) {
  const rows = await eventRows(server.database.sql, sessionId)
  // biome-ignore lint/suspicious/noExplicitAny: the test judges it
  return rows.filter(({ type }) => type === 'feedback').map(({ id, body }: any) => ({ id, ...body.feedback }))
}

const said = (text: string) =>
  eventually(async () => ((await page.getByRole('status').textContent()) ?? '').includes(text))

describe('feedback', () => {
  test('by keyboard alone: a thumb, a comment, and the other thumb', async () => {
    const sessionId = await answered('keys')
    await show('<earshot-feedback session="keys" message="a2"></earshot-feedback>')
    await expectNoViolations(page)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await said('Thank you')
    expect(await page.getByRole('button', { name: 'Not helpful' }).getAttribute('aria-pressed')).toBe('true')
    await eventually(async () => (await storedFeedback(sessionId))[0]?.rating === 'negative')
    await page.keyboard.press('Tab')
    await page.keyboard.type('It is <b>old</b>.')
    await expectNoViolations(page)
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await eventually(async () => (await storedFeedback(sessionId))[0]?.comment === 'It is <b>old</b>.')
    await page.getByRole('button', { name: 'Helpful', exact: true }).click()
    await eventually(async () => (await storedFeedback(sessionId))[0]?.rating === 'positive')
    expect((await storedFeedback(sessionId)).map(({ id }) => id)).toEqual([feedbackIdOf('a2')])
    expect(complaints).toEqual([])
  })

  test('below an answer that the page adds later, in the words of the page', async () => {
    const sessionId = await answered('later')
    await show('<p id="chat"></p>')
    await page.evaluate(`{
      const element = document.createElement('earshot-feedback')
      element.setAttribute('session', 'later')
      element.setAttribute('message', 'a2')
      element.setAttribute('text-yes', 'Hilfreich')
      document.querySelector('main').append(element)
    }`)
    await page.getByRole('button', { name: 'Hilfreich' }).click()
    await eventually(async () => (await storedFeedback(sessionId))[0]?.rating === 'positive')
    expect(complaints).toEqual([])
  })

  test('from an origin that the key does not list says so to the visitor, and stores nothing', async () => {
    const sessionId = await answered('foreign')
    await show('<earshot-feedback session="foreign" message="a2"></earshot-feedback>', { host: '127.0.0.1' })
    await page.getByRole('button', { name: 'Helpful', exact: true }).click()
    await said('could not be sent')
    expect(await storedFeedback(sessionId)).toEqual([])
    const waiting = await server.database.sql`
      select 1 from actor_message where payload->>'externalSessionId' = 'foreign'`
    expect(waiting).toHaveLength(0)
  })
})

describe('forms', () => {
  const shown = FORMS.filter(({ name }) => name !== 'manifesto-download')

  test.each(shown.map((form) => [form.name, form] as const))(
    '%s has the fields of the service, labels, and is stored',
    async (name, form) => {
      await show(`<earshot-form form="${name}"></earshot-form>`)
      await expectNoViolations(page)
      const fields = page.locator('input:not(.trap), textarea')
      const names = await fields.evaluateAll((all) =>
        all.map((one) => [one.getAttribute('name') ?? '', one.hasAttribute('required')] as const),
      )
      const required = new Set(form.body.required ?? [])
      for (const [field, isRequired] of names) {
        expect([field, field in form.body.properties]).toEqual([field, true])
        expect([field, isRequired]).toEqual([field, required.has(field)])
      }
      expect([...required].filter((field) => !names.some(([one]) => one === field))).toEqual([])
      const email = `${crypto.randomUUID()}@example.com`
      for (const [field] of names)
        await page.locator(`[name=${field}]`).fill(field === 'email' ? email : 'Ada')
      await page.getByRole('button', { name: 'Send' }).press('Enter')
      await said('Thank you')
      const rows = await server.database.sql<{ fields: object }[]>`
        select fields from form_submission where form = ${name} and email = ${email}`
      expect(rows.map(({ fields }) => Object.keys(fields).sort())).toEqual([
        names
          .map(([field]) => field)
          .filter((field) => field !== 'email')
          .sort(),
      ])
      expect(complaints).toEqual([])
    },
  )

  test('mark what the service refuses', async () => {
    await show('<earshot-form form="mobile-reminder"></earshot-form>')
    // Browsers accept this address.
    await page.locator('[name=email]').fill('ada@localhost')
    await page.getByRole('button', { name: 'Send' }).click()
    await said('check the marked fields')
    expect(await page.locator('[name=email]').getAttribute('aria-invalid')).toBe('true')
  })
})
