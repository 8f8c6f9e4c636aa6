/** Webhooks in the settings, in a real browser, with a real receiver. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type ConsolePage, openConsole } from '../support/console-page.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import {
  type SendingServer,
  startReceiver,
  startSendingServer,
  type TestReceiver,
  verify,
  WEBHOOKS,
} from '../support/webhooks.ts'

setDefaultTimeout(300_000)

let server: SendingServer
let tenant: Tenant
let receiver: TestReceiver
let browser: ConsolePage
let secret: string

beforeAll(async () => {
  server = await startSendingServer()
  tenant = await createTenant(server)
  receiver = startReceiver()
  browser = await openConsole(server, tenant.userId)
}, 300_000)
afterAll(async () => {
  await browser?.stop()
  await receiver?.stop()
  await server?.stop()
})

const dialog = () => browser.page.getByRole('dialog')
const submit = (name: string) => dialog().getByRole('button', { name, exact: true }).dblclick()

async function secretShownOnce(): Promise<string> {
  await dialog().getByText('It is shown only once.').waitFor()
  await browser.expectAccessible()
  const shown = (await dialog().locator('code').first().textContent()) ?? ''
  expect(shown).toStartWith('whsec_')
  await browser.page.getByRole('button', { name: 'I have stored it' }).click()
  await dialog().waitFor({ state: 'detached' })
  expect(await browser.kept()).not.toContain(shown)
  return shown
}

test('a webhook is created with its types; its secret is shown once', async () => {
  const { page, writes } = browser
  await browser.open('/settings/webhooks')
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor()
  await page.getByRole('button', { name: 'New webhook' }).click()
  await dialog().getByLabel('URL').fill('http://10.0.0.1/')
  await submit('Create')
  await dialog().getByRole('alert').getByText('Webhooks go to public addresses.', { exact: false }).waitFor()
  expect(browser.complaints.splice(0)).toHaveLength(1)
  await dialog().getByLabel('URL').fill(receiver.url)
  await dialog().getByLabel('Description').fill('Warehouse')
  await dialog().getByLabel('All, also those of later versions').uncheck()
  await dialog().getByLabel('A finding was made (signal.created)').check()
  await dialog().getByLabel('A call was created (recording.created)').check()
  await browser.expectAccessible()
  writes.length = 0
  await submit('Create')
  secret = await secretShownOnce()
  await page.getByRole('heading', { name: 'Warehouse' }).waitFor()
  expect(writes.splice(0)).toEqual([`POST ${WEBHOOKS}`])
  const { body } = await tenant.key.get(WEBHOOKS)
  expect(body.data).toMatchObject([
    { url: receiver.url, description: 'Warehouse', types: ['signal.created', 'recording.created'] },
  ])
})

test('a test arrives signed with the secret; its delivery shows the answer', async () => {
  const { page, writes } = browser
  await page.getByText('Nothing was sent yet.', { exact: false }).waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.locator('.tag').getByText('Delivered').first().waitFor()
  expect(writes.splice(0)).toHaveLength(1)
  const [first] = receiver.received
  expect(first?.event.type).toBe('ping')
  if (first !== undefined) verify(secret, first)
  await page.getByRole('button', { name: 'Attempts of ping' }).first().click()
  await page.getByText('Answer 200').waitFor()
  await page.getByText('thanks').waitFor()
  await browser.expectAccessible()
  const before = receiver.received.length
  writes.length = 0
  await page.getByRole('button', { name: 'Send again: ping' }).first().click()
  await page.getByText('2 attempts', { exact: false }).waitFor()
  expect(receiver.received.length).toBe(before + 1)
  expect(writes.splice(0)).toHaveLength(1)
})

test('a receiver that fails is seen in the list, by status', async () => {
  const { page } = browser
  receiver.answer = () => new Response('out of order', { status: 500 })
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.locator('.tag').getByText('Failed').first().waitFor()
  await page.getByLabel('Status').selectOption('Failed')
  await page.locator('.tag').getByText('Delivered').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Attempts of ping' }).first().click()
  await page.getByText('Answer 500').waitFor()
  await page.getByText('out of order').waitFor()
  await browser.expectAccessible()
  receiver.answer = () => new Response('thanks')
})

test('a webhook is switched off and on, changed, gets a new secret, and is deleted after a question', async () => {
  const { page, writes } = browser
  const [webhook] = (await tenant.key.get(WEBHOOKS)).body.data
  const path = `${WEBHOOKS}/${webhook.id}`
  await browser.open(`/settings/webhooks/${webhook.id}`)
  writes.length = 0
  await page.getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('Switched off').waitFor()
  expect((await tenant.key.get(path)).body.enabled).toBe(false)
  await page.getByRole('button', { name: 'Switch on' }).click()
  await page.getByText('may be missing at the receiver', { exact: false }).waitFor()
  await browser.expectAccessible()
  await page.getByRole('button', { name: 'Send them' }).dblclick()
  await page.getByText('What was missed is being sent in order.').waitFor()
  await page.getByRole('button', { name: 'Change' }).click()
  await dialog().getByLabel('All, also those of later versions').check()
  await dialog().getByLabel('Strict order', { exact: false }).check()
  await submit('Save')
  await page.getByText('strict', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New secret' }).click()
  await submit('New secret')
  expect(await secretShownOnce()).not.toBe(secret)
  expect(writes.splice(0)).toEqual([
    `PATCH ${path}`,
    `PATCH ${path}`,
    `POST ${path}/recover`,
    `PATCH ${path}`,
    `POST ${path}/secret`,
  ])
  expect((await tenant.key.get(path)).body).toMatchObject({ types: ['*'], ordering: 'strict', enabled: true })
  await page.getByRole('button', { name: 'Delete' }).click()
  await submit('Delete')
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor()
  expect(writes.splice(0)).toEqual([`DELETE ${path}`])
  expect((await tenant.key.get(path)).status).toBe(404)
})

test('the browser had nothing to complain of', () => {
  expect(browser.complaints).toEqual([])
})
