/** Every number of the overview leads to exactly what it counts; the keyboard reaches it, and the way back leads to the same place. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { assistantMessage, feedbackOn, openAgent, userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const DAY_MS = 86_400_000
const LONG_AGO = new Date(Date.now() - 60 * DAY_MS).toISOString()
/** More than a page of a list. */
const RECORDS = 55
/** Conversations, records, and calls with a transcript. */
const SUBJECTS = 3 + (RECORDS + 2) + 2

const GRACE = {
  externalId: 'grace',
  displayName: 'Grace Hopper',
  email: 'grace@example.com',
  boundary: 'external',
} as const

let server: TestServer
let chromium: Chromium
let page: Page

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  chromium = await startChromium()
  const agent = await openAgent(server)
  const key = server.as({ apiKey: agent.tenant.apiKey })
  await converse(agent)
  await Promise.all([tellFeedback(key), call(key)])
  await eventually(
    async () => {
      const [analyzed] = await server.database.sql<{ count: number }[]>`
        select count(*)::int as count
        from insight_subject
        where organization_id = ${agent.tenant.organizationId} and state <> 'pending'`
      return analyzed?.count === SUBJECTS
    },
    { deadlineMs: 150_000 },
  )
  page = await chromium.context.newPage()
  const token = await server.features.identity.createLink(agent.tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}&to=${encodeURIComponent('/console')}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.figure').first().waitFor()
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

/** Conversations with findings and with ratings; one is older than the period. */
async function converse(agent: Awaited<ReturnType<typeof openAgent>>): Promise<void> {
  const now = new Date().toISOString()
  const talk = (externalSessionId: string, occurredAt: string, ...contents: readonly string[]) =>
    agent.accept(
      contents.flatMap((content, index) => [
        userMessage(2 * index + 1, { content, occurredAt, participantExternalId: GRACE.externalId }),
        assistantMessage(2 * index + 2, { occurredAt }),
      ]),
      { externalSessionId, status: 'ended', participants: [GRACE] },
    )
  await talk('chat-1', now, 'The export fails every morning with an error.', 'It still does not work!')
  await talk('chat-2', now, 'Where do I find last month’s invoice?')
  const { sessionId } = await talk('chat-3', LONG_AGO, 'The export fails every morning with an error.')
  await agent.accept([{ ...feedbackOn('a2', 5, { rating: 'negative' }), occurredAt: now }], {
    externalSessionId: 'chat-1',
  })
  await agent.accept([{ ...feedbackOn('a2', 3), occurredAt: now }], { externalSessionId: 'chat-2' })
  const { sql } = server.database
  // The second passes are over, too: each writes the time anew. Themes wait for more items.
  await eventually(
    async () =>
      (await sql`select 1 from insight_subject where session_id = ${sessionId}`).length === 1 &&
      (await sql`select from actor_message where key not like 'themes:%' limit 1`).length === 0,
    { deadlineMs: 150_000 },
  )
}

type Key = ReturnType<TestServer['as']>

/** Records of two sources; one is older than the period. */
async function tellFeedback(key: Key): Promise<void> {
  const [many, few] = [await createSource(key), await createSource(key)]
  for (let index = 0; index < RECORDS; index++)
    await createRecord(key, many, { fields: [field({ value: `The invoices are late, number ${index}` })] })
  await createRecord(key, few, { fields: [field({ value: 'I love the new calendar!' })] })
  await createRecord(key, few, { fields: [field({ value: 'Fantastic product.' })], display_ts: LONG_AGO })
}

/** Calls of known and unknown start; one is older than the period. */
async function call(key: Key): Promise<void> {
  const transcript = [{ ...utterance(0, 4), text: 'Could you please add an export to Excel?' }]
  await createRecording(key, { startedAt: new Date().toISOString(), transcript })
  await createRecording(key, { transcript })
  await createRecording(key, { startedAt: LONG_AGO })
}

/** Each link of the page that ends with a number: its words and its address. */
const numbersOf = (area: string): Promise<readonly (readonly [words: string, href: string])[]> =>
  page
    .locator(`${area} a`)
    .evaluateAll((links) =>
      links.map((link) => [link.textContent ?? '', link.getAttribute('href') ?? ''] as const),
    )
    .then((links) => links.filter(([words]) => /\d$/.test(words)))

/** The rows behind an address, all pages of them. */
async function rowsAt(href: string): Promise<number> {
  await page.goto(new URL(href, server.baseUrl).href)
  const rows = page.locator('main .list > li, main .quotations > li')
  await rows.or(page.locator('main .note')).first().waitFor()
  for (;;) {
    await eventually(async () => (await page.locator('.loading, [aria-busy=true]').count()) === 0)
    const shown = await rows.count()
    const more = page.getByRole('button', { name: 'Show more' })
    if ((await more.count()) === 0) return shown
    await more.click()
    await rows.nth(shown).waitFor()
  }
}

test('every number of the overview is the length of the list it leads to', async () => {
  const numbers = [
    ...(await numbersOf('main .figures')),
    ...(await numbersOf('main p.tags')),
    ...(await numbersOf('main .bars table')),
  ]
  const behind: [string, number][] = []
  for (const [words, href] of numbers) behind.push([words, await rowsAt(href)])
  expect(behind).toEqual(numbers.map(([words]) => [words, Number(/\d+$/.exec(words)?.[0])]))
  const named = Object.fromEntries(behind.map(([words, rows]) => [words.replace(/\d+$/, '').trim(), rows]))
  expect(named).toMatchObject({ Conversations: 2, Calls: 2, Feedback: RECORDS + 1, Rating: 2 })
  expect(named['Findings and ratings']).toBeGreaterThan(2)
})

test('a quotation names who said it, and leads to everything they said', async () => {
  await page.goto(`${server.baseUrl}/console`)
  await page
    .getByRole('region', { name: 'What hurts' })
    .getByRole('link', { name: 'Grace Hopper' })
    .first()
    .click()
  await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor()
  expect(new URL(page.url()).pathname).toMatch(/^\/console\/people\/[0-9a-f-]{36}$/)
})

test('a bar leads to what was said on its day', async () => {
  await page.goto(`${server.baseUrl}/console`)
  const bars = page.locator('.bars svg a')
  await bars.first().waitFor()
  const shown = Number(/\d+$/.exec((await bars.last().locator('title').textContent()) ?? '')?.[0])
  expect(shown).toBeGreaterThan(0)
  expect(await rowsAt((await bars.last().getAttribute('href')) ?? '')).toBe(shown)
})

const focused = () =>
  page.evaluate<{ tag: string; href: string | null; text: string }>(`({
    tag: document.activeElement.tagName,
    href: document.activeElement.getAttribute('href'),
    text: document.activeElement.textContent,
  })`)

test('after a search j and k move over the results; Escape leaves the field', async () => {
  await page.goto(`${server.baseUrl}/console`)
  await page.locator('.figure').first().waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('invoices')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Search: invoices' }).waitFor()
  await page.locator('mark').first().waitFor()
  await eventually(async () => (await focused()).text === 'Search: invoices')
  const rows = page.locator('main [data-row]')
  const hrefOf = (index: number) => rows.nth(index).getAttribute('href')
  await page.keyboard.press('j')
  expect((await focused()).href).toBe(await hrefOf(0))
  await page.keyboard.press('j')
  expect((await focused()).href).toBe(await hrefOf(1))
  await page.keyboard.press('k')
  expect((await focused()).href).toBe(await hrefOf(0))
  expect(await page.getByRole('searchbox', { name: 'Search what' }).inputValue()).toBe('invoices')
  await page.keyboard.press('/')
  expect((await focused()).tag).toBe('INPUT')
  await page.keyboard.press('Escape')
  await page.goto(`${server.baseUrl}/console/findings`)
  await rows.first().waitFor()
  await page.keyboard.press('j')
  expect((await focused()).href).toBe(await hrefOf(0))
})

test('more rows take the focus, an opened page has it on its heading, and the way back leads to the row', async () => {
  await page.goto(`${server.baseUrl}/console/feedback`)
  const rows = page.locator('main [data-row]')
  await rows.first().waitFor()
  const before = await rows.count()
  await page.getByRole('button', { name: 'Show more' }).focus()
  await page.keyboard.press('Enter')
  await rows.nth(before).waitFor()
  const href = await rows.nth(before).getAttribute('href')
  await eventually(async () => (await focused()).href === href)
  const shown = await rows.count()
  const top = await page.evaluate<number>('scrollY')
  expect(top).toBeGreaterThan(0)
  await page.keyboard.press('Enter')
  await page.locator('table.record').waitFor()
  await eventually(async () => (await focused()).tag === 'H1')
  await page.goBack()
  await rows.nth(before).waitFor()
  expect(await rows.count()).toBe(shown)
  expect((await focused()).href).toBe(href)
  expect(Math.abs((await page.evaluate<number>('scrollY')) - top)).toBeLessThan(20)
  await page.getByRole('link', { name: 'Feedback', exact: true }).click()
  await page.getByRole('link', { name: 'People', exact: true }).click()
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await page.getByRole('link', { name: 'Feedback', exact: true }).click()
  await rows.first().waitFor()
  expect(await rows.count()).toBe(before)
})

test('the chart has a key', async () => {
  await page.goto(`${server.baseUrl}/console`)
  await page.locator('.bars').waitFor()
  expect(await page.locator('.bars p').textContent()).toMatch(/Negative\s*Other\s*Positive/)
})

test('a filtered list that is empty says so; nobody is invited to what the role may not do', async () => {
  await page.goto(`${server.baseUrl}/console/people?email=nobody@example.com`)
  await page.getByText('No person like this').waitFor()
  await page.goto(`${server.baseUrl}/console/conversations?status=abandoned`)
  await page.getByText('No conversation like this').waitFor()
  const asAnalyst = async () => {
    await page.route('**/v3/rest/session', async (route) => {
      const response = await route.fetch()
      const json = await response.json()
      for (const one of json.organizations) one.role = 'analyst'
      await route.fulfill({ response, json })
    })
  }
  await page.goto(`${server.baseUrl}/console/feedback`)
  const link = page.getByRole('link', { name: 'Import a CSV file' })
  await link.waitFor()
  await asAnalyst()
  await page.goto(`${server.baseUrl}/console/feedback`)
  await page.locator('main [data-row]').first().waitFor()
  expect(await link.count()).toBe(0)
  await page.unroute('**/v3/rest/session')
})

test('a verdict has the focus, and hands it on when its finding goes', async () => {
  await page.goto(`${server.baseUrl}/console/findings?kind=question`)
  await page.getByRole('button', { name: 'Wrong' }).first().focus()
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Noted as wrong.').waitFor()
  expect((await focused()).text).toBe('Noted as wrong.')
  await eventually(async () => (await page.getByText('Noted as wrong.').count()) === 0)
  expect((await focused()).tag).not.toBe('BODY')
})
