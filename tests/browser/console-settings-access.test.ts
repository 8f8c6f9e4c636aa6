/** Who and what may use the organization, in a real browser: members, keys, tokens, credits, fields, the audit log, sign-in. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { type ConsolePage, openConsole } from '../support/console-page.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let tenant: Tenant
let browser: ConsolePage

beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  browser = await openConsole(server, tenant.userId)
}, 300_000)
afterAll(async () => {
  await browser?.stop()
  await server?.stop()
})

const dialog = () => browser.page.getByRole('dialog')
const submit = (name: string) => dialog().getByRole('button', { name, exact: true }).dblclick()

/** The secret in the open dialog, after which the dialog is closed and the secret is gone. */
async function secretShownOnce(): Promise<string> {
  const { page } = browser
  await dialog().getByText('It is shown only once.').waitFor()
  await browser.expectAccessible()
  const secret = (await dialog().locator('code').first().textContent()) ?? ''
  expect(secret.length).toBeGreaterThan(30)
  expect(await browser.kept()).toContain(secret)
  await page.getByRole('button', { name: 'I have stored it' }).press('Enter')
  await dialog().waitFor({ state: 'detached' })
  expect(await browser.kept()).not.toContain(secret)
  await page.reload()
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await browser.kept()).not.toContain(secret)
  return secret
}

describe('an API key', () => {
  test('is created, shown once, renamed and revoked, each by one request', async () => {
    const { page, writes } = browser
    await browser.open('/settings/api-keys')
    await page.getByRole('button', { name: 'New key' }).click()
    await browser.expectAccessible()
    await dialog().getByLabel('Name').fill('Importer')
    await submit('Create')
    const apiKey = await secretShownOnce()
    expect(writes.splice(0)).toEqual(['POST /v3/rest/api-keys'])
    expect((await server.as({ apiKey }).get('/v3/rest/organization')).status).toBe(200)

    await page.getByRole('button', { name: 'Rename Importer' }).click()
    await dialog().getByLabel('Name').fill('Nightly importer')
    await submit('Save')
    await page.getByText('Nightly importer').waitFor()
    await page.getByRole('button', { name: 'Revoke Nightly importer' }).click()
    await browser.expectAccessible()
    await page.keyboard.press('Escape')
    await dialog().waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Revoke Nightly importer')
    expect(writes.splice(0)).toHaveLength(1)
    // The list may just have been drawn anew after the renaming.
    await page.getByRole('button', { name: 'Revoke Nightly importer' }).press('Enter')
    await submit('Revoke')
    await page.getByText('Revoked').waitFor()
    expect(writes.splice(0)).toHaveLength(1)
    expect((await server.as({ apiKey }).get('/v3/rest/organization')).status).toBe(401)
  })

  test('whose creation fails stays in its form with the reason, and can be sent again', async () => {
    const { page } = browser
    const refusal = { code: 'rate_limited', message: 'Too many requests.', error: 'Too Many Requests' }
    await page.route('**/v3/rest/api-keys', (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 429, json: refusal }) : route.continue(),
    )
    await page.getByRole('button', { name: 'New key' }).click()
    await dialog().getByLabel('Name').fill('Second')
    await submit('Create')
    await dialog().getByRole('alert').getByText('Wait a minute and try again.').waitFor()
    await browser.expectAccessible()
    expect(await dialog().getByLabel('Name').inputValue()).toBe('Second')
    await page.unroute('**/v3/rest/api-keys')
    await submit('Create')
    await secretShownOnce()
    browser.complaints.length = 0
  })
})

test('sixty keys are listed page by page, and the list that fails says so', async () => {
  const { page } = browser
  const identity = server.features.identity
  const other = await createTenant(server)
  for (let number = 1; number <= 60; number++)
    await identity.createApiKey(other.organizationId, `Key ${number} ${'x'.repeat(200)}`)
  const second = await browser.openBeside(server, other.userId)
  try {
    await second.open('/settings/api-keys')
    await second.page.getByRole('button', { name: 'Show more' }).click()
    await second.page.getByRole('button', { name: 'Rename Key 1 xxx' }).waitFor()
    await second.expectAccessible()
    expect(await second.page.getByRole('listitem').count()).toBeGreaterThanOrEqual(60)
  } finally {
    await second.stop()
  }
  await page.route('**/v3/rest/api-keys?*', (route) => route.abort())
  await browser.load('/settings/api-keys')
  await page.getByRole('alert').getByText('The service cannot be reached.').waitFor()
  await browser.expectAccessible()
  await page.unroute('**/v3/rest/api-keys?*')
  browser.complaints.length = 0
})

describe('a member', () => {
  const member = async (email: string, removed = false) => {
    const { body } = await tenant.key.get(`/v3/rest/members?limit=100&removed=${removed}`)
    return body.data.find((one: { email: string }) => one.email === email)
  }

  test('is added, gets another role, and is removed after a question', async () => {
    const { page, writes } = browser
    writes.length = 0
    await browser.open('/settings/members')
    await page.getByText('(you)').waitFor()
    await browser.expectAccessible()
    await page.getByRole('button', { name: 'Add a member' }).click()
    await dialog().getByLabel('E-mail address').fill('grace@settings.example')
    await dialog().getByLabel('Name').fill('Grace')
    await submit('Add')
    await page.getByText('Grace', { exact: true }).waitFor()
    expect(writes.splice(0)).toEqual(['POST /v3/rest/members'])
    expect(await member('grace@settings.example')).toMatchObject({ role: 'viewer', name: 'Grace' })

    await page.getByRole('button', { name: 'Add a member' }).click()
    await dialog().getByLabel('E-mail address').fill('Grace@settings.example')
    await submit('Add')
    await dialog().getByRole('alert').getByText('This person is already a member.').waitFor()
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    expect(browser.complaints.splice(0)).toHaveLength(1)

    writes.length = 0
    await page.getByLabel('Role of grace@settings.example').selectOption('analyst')
    await page.waitForResponse((response) => response.request().method() === 'PATCH')
    expect((await member('grace@settings.example')).role).toBe('analyst')
    await page.getByRole('button', { name: 'Remove grace@settings.example' }).click()
    await submit('Remove')
    await page.getByText('Grace', { exact: true }).waitFor({ state: 'detached' })
    expect(writes.splice(0)).toHaveLength(2)
    expect(await member('grace@settings.example')).toBeUndefined()
    await page.getByLabel('Show').selectOption('Former members')
    await page.getByText('Grace', { exact: true }).waitFor()
    expect(page.url()).toContain('removed=true')
    await browser.expectAccessible()
  })

  test('who is the last administrator stays one, and the page says why', async () => {
    const { page } = browser
    await browser.open('/settings/members')
    const role = page.getByLabel('Role of ').first()
    await role.selectOption('viewer')
    await page.getByRole('alert').getByText('The organization needs an administrator.').waitFor()
    expect(await role.inputValue()).toBe('administrator')
    browser.complaints.length = 0
  })
})

test('a token of a member is created, shown once, and revoked', async () => {
  const { page, writes } = browser
  await browser.open('/settings/tokens')
  await page.getByRole('button', { name: 'New token' }).click()
  await browser.expectAccessible()
  await dialog().getByLabel('Member').selectOption(tenant.userId)
  await dialog().getByLabel('Name').fill('Coding agent')
  await dialog().getByLabel('Valid for').selectOption('A day')
  writes.length = 0
  await submit('Create')
  const userToken = await secretShownOnce()
  expect(writes.splice(0)).toEqual(['POST /v3/rest/user-tokens'])
  expect((await server.as({ userToken }).get('/v3/rest/members')).status).toBe(200)
  await page.getByRole('button', { name: 'Revoke the token Coding agent' }).click()
  await submit('Revoke')
  await page.getByText('Revoked').waitFor()
  expect(writes.splice(0)).toHaveLength(1)
  expect((await server.as({ userToken }).get('/v3/rest/members')).status).toBe(401)
})

test('tokens that a provider makes are not made here', async () => {
  const company = await startTestServer({
    beside: server,
    env: {
      OIDC_ISSUER: 'https://login.example.com',
      OIDC_AUDIENCE: 'earshot',
      OIDC_JWKS_URL: 'https://login.example.com/keys',
    },
  })
  const other = await browser.openBeside(company, tenant.userId)
  try {
    await other.open('/settings/tokens')
    await other.page.getByText('https://login.example.com makes the tokens', { exact: false }).waitFor()
    expect(await other.page.getByRole('button', { name: 'New token' }).count()).toBe(0)
    await other.expectAccessible()
    await other.open('/settings/sign-in')
    await other.page.getByText('https://login.example.com makes them.').waitFor()
  } finally {
    await other.stop()
    await company.stop()
  }
})

test('credits are added and set once each, with their reason', async () => {
  const { page, writes } = browser
  await browser.open('/settings/credits')
  await page.getByText('unlimited').waitFor()
  await page.getByRole('button', { name: 'Set' }).click()
  await dialog().getByLabel('Balance').fill('100')
  await submit('Set')
  await page.locator('strong').getByText('100', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Add' }).click()
  await browser.expectAccessible()
  await dialog().getByLabel('Credits').fill('50')
  await dialog().getByLabel('Reason').fill('Order 4711')
  await submit('Add')
  await page.locator('strong').getByText('150', { exact: true }).waitFor()
  await page.getByText('Order 4711').waitFor()
  await browser.expectAccessible()
  expect(writes.splice(0)).toEqual(['PATCH /v3/rest/credits', 'POST /v3/rest/credits'])
  expect((await tenant.key.get('/v3/rest/credits')).body).toEqual({ balance: 150 })
})

test('fields of metadata are added and renamed; a name that is taken is refused', async () => {
  const { page, writes } = browser
  await browser.open('/settings/metadata')
  await page.getByText('No field yet.', { exact: false }).waitFor()
  for (const name of ['deal size', 'region']) {
    await page.getByRole('button', { name: 'New field' }).click()
    await dialog().getByLabel('Name').fill(name)
    await dialog()
      .getByLabel('Type')
      .selectOption(name === 'region' ? 'Text' : 'Number')
    await submit('Create')
    await page.getByText(name, { exact: true }).waitFor()
  }
  await page.getByRole('button', { name: 'Rename region' }).click()
  await dialog().getByLabel('Name').fill('deal size')
  await submit('Save')
  await dialog().getByRole('alert').getByText('This name is taken.').waitFor()
  await browser.expectAccessible()
  expect(browser.complaints.splice(0)).toHaveLength(1)
  await dialog().getByLabel('Name').fill('market')
  await submit('Save')
  await page.getByText('market', { exact: true }).waitFor()
  expect(writes.splice(0)).toHaveLength(4)
  await page.getByRole('button', { name: 'New source' }).click()
  await dialog().getByLabel('Name').fill('accounts')
  await submit('Create')
  await page.getByRole('button', { name: 'Rename the source' }).waitFor()
  await page.getByText('No field yet.', { exact: false }).waitFor()
  await browser.expectAccessible()
  const sources = (await tenant.key.get('/v3/rest/metadata/sources')).body
  const fields = await tenant.key.get(`/v3/rest/metadata/sources/${sources[0].id}/fields`)
  expect(fields.body).toMatchObject([
    { name: 'deal size', type: 'float' },
    { name: 'market', type: 'string' },
  ])
  expect(sources[1]).toMatchObject({ externalEntityName: 'accounts' })
  writes.length = 0
})

test('a dead letter is retried, or skipped after a question', async () => {
  const { page, writes } = browser
  const { sql } = server.database
  const keys = [newId(), newId()].map((id) => `session:${id}`)
  for (const key of keys) {
    await sql`insert into actor_mailbox (key, organization_id, last_seq) values (${key}, ${tenant.organizationId}, 1)`
    await sql`
      insert into actor_dead_letter (key, seq, type, payload, attempts) values (${key}, 1, 'advance', '{}', 3)`
  }
  const [first = '', second = ''] = keys
  await browser.open('/health')
  const parts = page.getByRole('table', { name: 'What the service runs on' })
  await parts.getByRole('row', { name: /^Database .*Ready PostgreSQL \d/ }).waitFor()
  await parts.getByRole('row', { name: /^Mail .*Not configured .*SMTP_URL/ }).waitFor()
  await page.getByRole('button', { name: `Skip advance of ${first}` }).click()
  await browser.expectAccessible()
  await submit('Skip')
  await page.getByText(first).waitFor({ state: 'detached' })
  await page.getByRole('button', { name: `Retry advance of ${second}` }).click()
  await page.getByText('Nothing has failed for good.').waitFor()
  expect(writes.splice(0)).toHaveLength(2)
  expect((await tenant.key.get('/v3/rest/actors/dead-letters')).body.data).toEqual([])
})

test('the audit log shows what was changed and by whom, and is filtered by its address', async () => {
  const { page } = browser
  const { email } = (await tenant.user.get('/v3/rest/session')).body.user
  await tenant.key.post('/v3/rest/api-keys', { name: 'By a program' })
  await browser.open('/settings/audit')
  await page.getByText('credits.added').waitFor()
  const byKey = page.getByRole('list', { name: 'Entries' }).getByText('API key ')
  await byKey.first().waitFor()
  await browser.expectAccessible()
  await page.getByLabel('By').selectOption({ label: email })
  await page.getByText('credits.set').waitFor()
  await byKey.first().waitFor({ state: 'detached' })
  expect(page.url()).toContain(`by=${tenant.userId}`)
  await page.getByLabel('Id of the object').fill('nothing')
  await page.keyboard.press('Tab')
  await page.getByText('No entry with these filters.').waitFor()
})

test('how people sign in is shown', async () => {
  await browser.open('/settings/sign-in')
  await browser.page.getByText('Mails are written into the folder', { exact: false }).waitFor()
  await browser.page.getByText('Not configured. Set OIDC_ISSUER', { exact: false }).waitFor()
  await browser.expectAccessible()
})

test('nothing of the settings is in the stores of the browser', async () => {
  const kept = JSON.parse(await browser.kept())
  expect(kept).toMatchObject({ session: {}, databases: [], caches: [], cookies: '' })
  expect(Object.keys(kept.local).filter((key) => key !== 'earshot.organization')).toEqual([])
})

test('the browser had nothing to complain of', () => {
  expect(browser.complaints).toEqual([])
})
