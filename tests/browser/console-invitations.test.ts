/** A person who is invited answers in the console, in a real browser: also one who belongs to no organization yet. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type ConsolePage, openConsole } from '../support/console-page.ts'
import { invite } from '../support/foreign-objects.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let own: TestTenant
let acme: TestTenant
let browser: ConsolePage

beforeAll(async () => {
  server = await startTestServer()
  own = await server.createTenant('Own')
  acme = await server.createTenant('Acme')
  await invite(server, acme.organizationId, own.userId)
  browser = await openConsole(server, own.userId)
}, 300_000)
afterAll(async () => {
  await browser?.stop()
  await server?.stop()
})

const stateIn = async ({ apiKey }: TestTenant) =>
  (await server.as({ apiKey }).get(`/v3/rest/members/${own.userId}`)).body.status

test('declines, and accepts the next one, which opens the organization', async () => {
  const { page } = browser
  const invitation = page.getByRole('region', { name: 'Invitation of Acme' })
  await browser.load('')
  await invitation.waitFor()
  await browser.expectAccessible()
  await invitation.getByRole('button', { name: 'Decline' }).click()
  await invitation.waitFor({ state: 'detached' })
  expect(await stateIn(acme)).toBeUndefined()

  await invite(server, acme.organizationId, own.userId)
  await browser.load('')
  await invitation.getByRole('button', { name: 'Accept' }).click()
  await page.getByLabel('Organization').waitFor()
  expect(await page.getByLabel('Organization').inputValue()).toBe(acme.organizationId)
  expect(await stateIn(acme)).toBe('active')
  expect(browser.complaints).toEqual([])
})

test('who belongs to no organization sees the invitation and no page', async () => {
  const { userId } = await server.createUser(acme.organizationId)
  await invite(server, own.organizationId, userId)
  const beside = await browser.openBeside(server, userId)
  await server.database.sql`delete from membership where user_id = ${userId}`
  server.features.identity.forgetUser(userId)
  await beside.page.reload()
  await beside.page.getByText('You belong to no organization').waitFor()
  await beside.expectAccessible()
  await beside.page.getByRole('button', { name: 'Accept' }).click()
  await beside.page.getByText('Own', { exact: true }).first().waitFor()
  await beside.page.getByRole('heading', { name: 'Overview' }).waitFor()
  await beside.stop()
})
