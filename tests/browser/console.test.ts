/** The console with a real browser and real data: what an analyst sees, by mouse and by keyboard, and what assistive technology finds. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { expectAccessible } from '../support/accessibility.ts'
import { assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { eventually } from '../support/eventually.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let chromium: Chromium
let page: Page
let agent: Awaited<ReturnType<typeof openAgent>>
let recordingId: string
let theirs: string
const complaints: string[] = []

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  chromium = await startChromium()
  agent = await openAgent(server)
  const key = server.as({ apiKey: agent.tenant.apiKey })
  await agent.accept(
    [
      userMessage(1, { content: 'The export <b>fails</b> every morning.' }),
      assistantMessage(2, { content: 'Please try again.' }),
      userMessage(3, { content: 'Still broken.' }),
    ],
    {
      externalSessionId: 'chat-1',
      status: 'ended',
      participants: [
        { externalId: 'p', displayName: 'Grace', email: 'grace@example.com', boundary: 'external' },
      ],
    },
  )
  const sourceId = await createSource(key)
  await createRecord(key, sourceId, { fields: [field({ value: 'Lovely invoices' })] })
  const recording = await createRecording(key, {
    displayName: 'Quarterly call',
    transcript: [utterance(0, 2), { ...utterance(2, 4), text: 'The invoices are late' }],
  })
  recordingId = recording.id
  await eventually(async () => {
    const passagesOf = async (q: string) => (await key.get(`/v3/rest/search?q=${q}`)).body.data.length
    return (await passagesOf('export')) > 0 && (await passagesOf('invoices')) === 2
  })
  page = await chromium.context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()}: ${message.location().url}`)
  })
  page.on('pageerror', (error) => complaints.push(error.message))
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

const open = (path: string) => page.goto(`${server.baseUrl}/console${path}`)

test('without a session the browser is asked to sign in, and comes back', async () => {
  await open('/conversations?status=ended')
  await page.waitForURL(/\/sign-in\?to=/)
  const token = await server.features.identity.createLink(agent.tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}&to=${encodeURIComponent('/console')}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  complaints.length = 0
})

test('a conversation opens from the list by keyboard alone, and its words are text, not HTML', async () => {
  await open('/conversations')
  await page.getByText('Grace').waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.getByText('The export <b>fails</b> every morning.').waitFor()
  expect(await page.locator('.message').count()).toBe(3)
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Grace')
})

test('search finds passages of every channel, marks them and leads to their place', async () => {
  await open('')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('invoices')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Search: invoices' }).waitFor()
  await page.locator('mark').first().waitFor()
  expect(await page.locator('.quotation').count()).toBe(2)
  const note = page.getByText('No passage has all of these words.')
  expect(await note.count()).toBe(0)
  await open('/search?q=invoices+zeppelins')
  await note.waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Search: invoices', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Quarterly call' }).click()
  await page.getByRole('heading', { name: 'Quarterly call' }).waitFor()
  expect(page.url()).toContain(`/calls/${recordingId}`)
  await page.locator('.transcript').getByText('The invoices are late').waitFor()
})

test('what arrives while the list is open appears', async () => {
  await open('/conversations')
  await page.getByText('Grace').waitFor()
  await agent.accept([userMessage(1)], {
    externalSessionId: 'chat-2',
    participants: [{ externalId: 'h', displayName: 'Heidi', boundary: 'external' }],
  })
  await page.getByText('Heidi').waitFor()
})

test('an analyst calls a finding wrong, and it is gone', async () => {
  const key = server.as({ apiKey: agent.tenant.apiKey })
  await agent.accept(
    [userMessage(1, { content: 'Where do I find last month’s invoice?' }), assistantMessage(2)],
    {
      externalSessionId: 'chat-3',
      status: 'ended',
    },
  )
  const questions = async () => (await key.get('/v3/rest/signals?kind=question')).body.data
  await eventually(async () => (await questions()).length === 1, { deadlineMs: 150_000 })
  await open('/findings?kind=question')
  await page.getByText('where do I find', { exact: false }).first().waitFor()
  await page.getByRole('button', { name: 'Wrong' }).click()
  await page.getByRole('status').getByText('Noted as wrong.').waitFor()
  expect(await questions()).toEqual([])
})

test('a person has one timeline', async () => {
  await open('/people')
  await page.getByRole('link', { name: /grace@example\.com/ }).click()
  await page.getByText('Still broken.').waitFor()
})

test('somebody else’s conversation does not exist', async () => {
  const stranger = await openAgent(server)
  const { sessionId } = await stranger.accept([userMessage(1)], { externalSessionId: 'theirs' })
  theirs = sessionId
  await open(`/conversations/${sessionId}`)
  await page.getByRole('alert').getByText('This does not exist').waitFor()
})

test('a call says why there is nothing to play and to read', async () => {
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const { id } = await createRecording(key, { displayName: 'Failed call' })
  await server.database.sql`
    update recording set asset_status = 'failed', asset_error_code = 'media_too_large' where id = ${id}`
  await open(`/calls/${id}`)
  await page.getByText('The media failed. The media is larger than this service accepts.').waitFor()
  await page.getByText('Without media there is no transcript.').waitFor()
  expect(await page.locator('main time').count()).toBe(1)
  await createRecording(key, { displayName: 'Old call', startedAt: '2020-01-02T03:04:05Z' })
  await open('/calls')
  await page.getByText('Old call').waitFor()
  expect(await page.locator('.row-link .main').allTextContents()).toEqual([
    'Failed call',
    'Quarterly call',
    'Old call',
  ])
  const row = page.locator('.row-link', { hasText: 'Failed call' })
  await row.getByText('No media yet').waitFor()
  expect(await row.locator('time').count()).toBe(1)
})

/** Begins with a letter that is read from right to left. */
const ARABIC = 'لا يعمل التصدير في Excel!'
const LONG = `https://example.com/${'a'.repeat(180)}`
const SESSION = 'f'.repeat(64)

/** Words of tables that stand in two lines. Names of actors, which contain ids, and of settings may. */
const BROKEN_WORDS = `[...document.querySelectorAll('main td:is(.word, .remark)')].flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
  const broken = []
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode())
    for (const { 0: word, index } of text.data.matchAll(/[A-Za-z]+/g)) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      if (text.parentElement.closest('code') === null && range.getClientRects().length > 1) broken.push(word)
    }
  return broken
})`

test('what customers wrote has the direction of its own letters', async () => {
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const { sessionId } = await agent.accept([userMessage(1, { content: ARABIC })], {
    externalSessionId: 'arabic',
    participants: [{ externalId: 'a', displayName: 'ليلى', boundary: 'external' }],
  })
  const call = await createRecording(key, {
    displayName: ARABIC,
    transcript: [{ ...utterance(0, 2), text: ARABIC }],
  })
  const directionOf = (selector: string, text: string) =>
    page
      .locator(selector, { hasText: text })
      .first()
      .evaluate((one) => (one.matches(':dir(rtl)') ? 'rtl' : 'ltr'))
  await open(`/conversations/${sessionId}`)
  expect(await directionOf('.message .text', ARABIC)).toBe('rtl')
  expect(await directionOf('h1', 'ليلى')).toBe('rtl')
  await open('/conversations')
  expect(await directionOf('.row-link .main', 'ليلى')).toBe('rtl')
  expect(await directionOf('.row-link .main', 'Grace')).toBe('ltr')
  await open(`/calls/${call.id}`)
  expect(await directionOf('.transcript li span:last-child', ARABIC)).toBe('rtl')
})

test('words without spaces make no page wider than the window', async () => {
  const key = server.as({ apiKey: agent.tenant.apiKey })
  const sourceId = await createSource(key, LONG)
  const record = await createRecord(key, sourceId, { external_id: LONG, fields: [field({ value: LONG })] })
  const { sessionId } = await agent.accept([userMessage(1, { content: `Broken: ${LONG}` })], {
    externalSessionId: SESSION,
  })
  await agent.accept([userMessage(1, { content: LONG })], {
    externalSessionId: `1${SESSION}`,
    participants: [{ externalId: 'l', displayName: LONG, email: 'long@example.com', boundary: 'external' }],
  })
  const call = await createRecording(key, {
    displayName: LONG,
    summary: LONG,
    participants: [{ speaker: 1, email: 'long@example.com' }],
    transcript: [{ ...utterance(0, 2), speaker: 1, text: LONG }],
  })
  let personId = ''
  await eventually(async () => {
    const people = (await key.get('/v3/rest/people?email=long@example.com')).body.data
    personId = people[0]?.uuid ?? ''
    return personId !== '' && (await key.get('/v3/rest/search?q=example.com')).body.data.length > 0
  })
  await page.setViewportSize({ width: 360, height: 700 })
  const wide: string[] = []
  for (const path of [
    ...PAGES,
    '/feedback/import',
    `/conversations/${sessionId}`,
    `/calls/${call.id}`,
    `/feedback/${sourceId}/${record.id}`,
    `/people/${personId}`,
    '/search?q=example.com',
  ]) {
    await open(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    await page.evaluate('for (const folded of document.querySelectorAll("details")) folded.open = true')
    if (await page.evaluate('document.documentElement.scrollWidth > 360')) wide.push(path)
  }
  expect(wide).toEqual([])
  await open('/health')
  await page.locator('.remark').first().waitFor()
  expect(await page.evaluate<string[]>(BROKEN_WORDS)).toEqual([])
  await page.setViewportSize({ width: 1280, height: 720 })
})

test.each(['/conversations', '/calls', '/findings', '/feedback'])(
  '%s ignores a period that is none',
  async (path) => {
    await open(`${path}?since=foo&until=bar`)
    await page.locator('main .list > li, main .quotations > li').first().waitFor()
    expect(await page.getByRole('button', { name: 'Show all' }).count()).toBe(0)
  },
)

test('a page that cannot be drawn says so, and the next one is shown', async () => {
  await page.route('**/v3/rest/people?*', (route) => route.fulfill({ json: { data: [{ uuid: 'x' }] } }))
  await open('/people')
  await page.getByRole('alert').getByText('RangeError').waitFor()
  await page.unroute('**/v3/rest/people?*')
  await page.getByRole('link', { name: 'Conversations' }).click()
  await page.getByText('Grace').waitFor()
})

const PAGES = [
  '',
  '/themes',
  '/findings',
  '/conversations',
  '/calls',
  '/feedback',
  '/people',
  '/search?q=export',
  '/health',
  '/none',
]

test.each(PAGES)(
  '%s has no violation that axe finds, in light and in dark, and fits 390 pixels',
  async (path) => {
    await open(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    await expectAccessible(page)
  },
  120_000,
)

test('the browser had nothing to complain of', () => {
  // Each request for the foreign conversation was refused, some of them after the test that made them.
  expect(complaints.filter((complaint) => !complaint.includes(theirs))).toEqual([])
})
