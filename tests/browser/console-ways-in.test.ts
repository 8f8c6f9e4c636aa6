/** What comes in by the console, and what people change there: CSV files, recordings, meetings, names of speakers, themes. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expectAccessible } from '../support/accessibility.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { insertTheme } from '../support/insert-theme.ts'
import { wav } from '../support/media.ts'
import { newMeeting, RECORDER_ENV } from '../support/meetings.ts'
import { createMemoryRecorder } from '../support/memory-recorder.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let chromium: Chromium
let page: Page
let tenant: Tenant
let folder: string
const complaints: string[] = []

beforeAll(async () => {
  server = await startTestServer({ actors: true, env: RECORDER_ENV, recorder: createMemoryRecorder() })
  tenant = await createTenant(server)
  folder = mkdtempSync(join(tmpdir(), 'earshot-ways-in-'))
  chromium = await startChromium()
  page = await chromium.context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  const token = await server.features.identity.createLink(tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}&to=${encodeURIComponent('/console')}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const open = (path: string) => page.goto(`${server.baseUrl}/console${path}`)

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}

const CSV =
  'Ticket,Requester,Created,Comment,Score,Note\n' +
  't1,ada@ways.example,2026-01-02T09:00:00Z,The wizard export is far too slow.,7,a\n' +
  't2,grace@ways.example,2026-01-03T10:30:00Z,I cannot find the last invoice.,9,b\n' +
  't3,alan@ways.example,soon,Thank you for the search!,10,c\n'

describe('a CSV file', () => {
  test('is dropped, mapped with guesses, judged, imported; refused rows are downloaded', async () => {
    await open('/feedback')
    await page.getByRole('link', { name: 'Import a CSV file' }).click()
    await page.getByRole('heading', { name: 'Import feedback' }).waitFor()
    await page.getByLabel('Name of the source').fill('Help desk')
    await expectAccessible(page)
    // The tests know no types of a browser.
    const dropped = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([${JSON.stringify(CSV)}], 'tickets.csv', { type: 'text/csv', lastModified: 1 }))
      return transfer
    })()`)
    await page.locator('.drop').dispatchEvent('drop', { dataTransfer: dropped })

    await page.getByRole('heading', { name: 'What do the columns mean?' }).waitFor()
    const meaning = (column: string) => page.getByLabel(`Meaning of ${column}`)
    expect(await meaning('Ticket').inputValue()).toBe('external_id')
    expect(await meaning('Requester').inputValue()).toBe('email')
    expect(await meaning('Comment').inputValue()).toBe('content')
    // A time that is none in one row is not guessed.
    expect(await meaning('Created').inputValue()).toBe('metadata')
    await page.getByText('All 3 rows would be imported.').waitFor()
    await meaning('Created').selectOption('timestamp')
    await meaning('Note').selectOption('-')
    await page.getByText('1 of 3 rows would be refused.').waitFor()
    await page.getByText('Refused: column "Created": must be ', { exact: false }).waitFor()
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('status').getByText('Imported').waitFor()
    await expectAccessible(page)
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download refused rows' }).click()
    const download = await saving
    expect(download.suggestedFilename()).toBe('refused-tickets.csv')
    expect(readFileSync(await download.path(), 'utf8')).toStartWith(
      'import_line,import_reason,Ticket,Requester,Created,Comment,Score,Note\r\n4,',
    )
    await page.getByRole('link', { name: 'Show the feedback' }).click()
    await page.getByText('The wizard export is far too slow.').waitFor()
    const { body } = await tenant.key.get('/v3/rest/feedback-sources?name=Help%20desk')
    const records = await tenant.key.get(`/v3/rest/feedback-sources/${body.data[0].id}/records`)
    expect(records.body.data.map((one: { external_id: string }) => one.external_id).toSorted()).toEqual([
      't1',
      't2',
    ])
  })

  test('whose upload breaks off is continued after a reload', async () => {
    const path = file('long.csv', `Comment\n${`${'x'.repeat(99)}\n`.repeat(60_000)}`)
    const offsets: (string | undefined)[] = []
    let isCut = true
    await page.route(/\/uploads\//, async (route) => {
      const request = route.request()
      if (request.method() !== 'PATCH') return route.continue()
      const offset = request.headers()['upload-offset']
      offsets.push(offset)
      return isCut && offset !== '0' ? route.abort() : route.continue()
    })
    await open('/feedback/import?source=new')
    await page.getByLabel('Name of the source').fill('Long')
    await page.locator('input[type=file]').setInputFiles(path)
    await page.waitForRequest((request) => request.headers()['upload-offset'] === String(4 * 1024 * 1024))
    await page.reload()
    await page.getByText('The upload is not complete.', { exact: false }).waitFor()
    await expectAccessible(page)
    isCut = false
    offsets.length = 0
    await page.locator('input[type=file]').setInputFiles(path)
    await page.getByRole('heading', { name: 'What do the columns mean?' }).waitFor()
    expect(offsets).toEqual([String(4 * 1024 * 1024)])
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('The import was cancelled').waitFor()
    await page.unroute(/\/uploads\//)
    complaints.length = 0
  })
})

describe('a call', () => {
  test('is uploaded by dropping a file, and plays', async () => {
    await open('/calls')
    await page.getByText('Add a call', { exact: true }).click()
    await expectAccessible(page)
    await page.locator('input[type=file]').setInputFiles(file('First talk.wav', wav(2)))
    await page.waitForURL(/\/calls\/[0-9a-f-]{36}/)
    await page.getByRole('heading', { name: 'First talk' }).waitFor({ timeout: 150_000 })
    await page.locator('.player video').waitFor({ timeout: 150_000 })
    // The library that draws it brings inline styles.
    await page.locator('.wave canvas').first().waitFor()
    await expectAccessible(page)
    expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
  })

  test('has a waveform as high and as wide as its place', async () => {
    const [place, drawn] = await Promise.all(
      ['.wave', '.wave .scroll'].map((part) => page.locator(part).first().boundingBox()),
    )
    expect(drawn?.height).toBe(64)
    expect(drawn?.width).toBe(place?.width ?? 0)
  })

  test('of a meeting is joined by its link; a link that is none tells why', async () => {
    await open('/calls')
    await page.getByText('Add a call', { exact: true }).click()
    await page.getByLabel('Link of a meeting').fill('https://example.com/')
    await page.getByRole('button', { name: 'Join the meeting' }).click()
    await page.getByRole('alert').waitFor()
    complaints.length = 0
    await page.getByLabel('Link of a meeting').fill(newMeeting())
    await page.getByRole('button', { name: 'Join the meeting' }).click()
    await page.waitForURL(/\/calls\/[0-9a-f-]{36}/)
    const id = page.url().split('/').at(-1)
    const { body } = await tenant.key.get(`/v3/rest/recordings/${id}`)
    expect(body).toMatchObject({ source: 'meeting', meeting: { platform: 'zoom' } })
  })

  test('has speakers that an analyst names', async () => {
    const { id } = await createRecording(tenant.key, {
      displayName: 'Two speakers',
      transcript: [utterance(0, 1), { ...utterance(1, 2), speaker: 1, text: 'Who am I?' }],
    })
    await open(`/calls/${id}`)
    await page.getByText('Name a speaker').click()
    await page.locator('select[name=speaker]').selectOption({ value: '1' })
    await page.getByLabel('Name', { exact: true }).fill('Grace Hopper')
    await page.getByLabel('E-mail address').fill('hopper@ways.example')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Grace Hopper' }).waitFor()
    const { body } = await tenant.key.get(`/v3/rest/recordings/${id}`)
    expect(body.participants).toMatchObject([
      { speaker: 1, email: 'hopper@ways.example', lastName: 'Hopper' },
    ])
  })
})

test('themes are merged and split, and stay as they were edited', async () => {
  const { themeId, otherThemeId } = await insertTheme(server.database.sql, tenant.organizationId)
  await tenant.user.patch(`/v3/rest/themes/${themeId}`, { title: 'Exports crash', pinned: true })
  await tenant.user.patch(`/v3/rest/themes/${otherThemeId}`, { title: 'Exports end early' })
  await open(`/themes/${themeId}`)
  await page.getByRole('heading', { name: 'Exports crash' }).waitFor()
  await expectAccessible(page)
  const split = page.getByLabel('Split by this')
  await split.first().check()
  await page.getByText('Choose a second quotation', { exact: false }).waitFor()
  await split.nth(1).check()
  await page.getByLabel('Title of the new theme').fill('Half of the crashes')
  await page.getByRole('button', { name: 'Split' }).click()
  await page.getByRole('heading', { name: 'Half of the crashes' }).waitFor()

  await open(`/themes/${themeId}`)
  await page.getByLabel('Merge into this theme').selectOption({ label: 'Exports end early' })
  await page.getByRole('button', { name: 'Merge' }).click()
  await page.getByRole('option', { name: 'Exports end early' }).waitFor({ state: 'detached' })
  const kept = await tenant.user.get(`/v3/rest/themes/${otherThemeId}`)
  expect(kept.body).toMatchObject({ id: themeId, title: 'Exports crash', pinned: true })
})

test('the browser had nothing to complain of', () => {
  expect(complaints).toEqual([])
})
