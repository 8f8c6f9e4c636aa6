/** The settings in a real browser: agents with their first conversation, redaction, and what everybody may see. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { type ConsolePage, openConsole } from '../support/console-page.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

const APPLICATIONS = '/v3/rest/agent-applications'

let server: TestServer
let tenant: Tenant
let browser: ConsolePage

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  tenant = await createTenant(server)
  browser = await openConsole(server, tenant.userId)
}, 300_000)
afterAll(async () => {
  await browser?.stop()
  await server?.stop()
})

describe('an agent', () => {
  test('is created by keyboard alone; its secret is shown once, and its command brings the first conversation', async () => {
    const { page, open, writes } = browser
    await open('/settings/agents')
    await page.getByRole('heading', { name: 'No agent yet' }).waitFor()
    await browser.expectAccessible()
    await page.getByRole('button', { name: 'New agent' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'New agent' }).waitFor()
    await browser.expectAccessible()
    await page.keyboard.type('Support bot')
    await page.keyboard.press('Tab')
    await page.keyboard.type('support bot')
    await page.keyboard.press('Enter')
    // The browser refuses a key with a space, so nothing is sent.
    expect(writes).toEqual([])
    await page.getByLabel('Key', { exact: true }).fill('support-bot')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Support bot' }).waitFor()
    expect(writes.splice(0)).toEqual([`POST ${APPLICATIONS}`])
    const [agent] = (await tenant.key.get(APPLICATIONS)).body.data
    expect(agent).toMatchObject({ agentKey: 'support-bot', name: 'Support bot' })

    await page.getByRole('button', { name: 'New secret' }).dblclick()
    await page.getByText('Waiting for the first message…').waitFor()
    expect(writes.splice(0)).toEqual([`POST ${APPLICATIONS}/${agent.id}/secrets`])
    await browser.expectAccessible()
    const secret = (await page.locator('.command code').first().textContent()) ?? ''
    const command = (await page.locator('.command code').nth(1).textContent()) ?? ''
    expect(secret.length).toBeGreaterThan(30)
    expect(command).toContain(secret)
    const shell = Bun.spawn(['bash', '-c', command], { stderr: 'ignore' })
    expect(await new Response(shell.stdout).json()).toMatchObject({ acceptedEventCount: 1 })
    await page.getByText('It has arrived:').waitFor()
    await browser.expectAccessible()

    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'New secret' }).waitFor()
    expect(await browser.kept()).not.toContain(secret)
    await page.reload()
    await page.getByRole('heading', { name: 'Secrets' }).waitFor()
    await page.getByRole('button', { name: `Revoke the secret ${secret.slice(0, 4)}` }).waitFor()
    expect(await browser.kept()).not.toContain(secret)
  })

  test('has a secret that is revoked after a question, and settings that are saved once', async () => {
    const { page, writes } = browser
    const [agent] = (await tenant.key.get(APPLICATIONS)).body.data
    await browser.open(`/settings/agents/${agent.id}`)
    await page.getByRole('button', { name: 'Revoke the secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    expect(writes).toEqual([])
    await page.getByRole('button', { name: 'Revoke the secret' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).dblclick()
    await page.getByText('Revoked').waitFor()
    expect(writes.splice(0)).toHaveLength(1)
    const secrets = (await tenant.key.get(`${APPLICATIONS}/${agent.id}/secrets`)).body.data
    expect(secrets.map((one: { revokedAt: string | null }) => one.revokedAt === null)).toEqual([false])

    await page.getByLabel('Delete conversations after days').fill('90')
    await page.getByLabel('Who may read the conversations').selectOption('restricted')
    const account = (await tenant.user.get('/v3/rest/session')).body.user
    const user = page.getByRole('group', { name: 'Users' }).getByLabel(account.email)
    await user.check()
    await page.getByLabel('Environments that may send').fill('x'.repeat(513))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('settings.allowedEnvironments[0]').waitFor()
    await browser.expectAccessible()
    expect(browser.complaints.splice(0)).toHaveLength(1)
    writes.length = 0
    await page.getByLabel('Environments that may send').fill('production\n\n staging ')
    expect(await user.isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Save' }).dblclick()
    await page.getByText('Version 2 is in force.').waitFor()
    expect(writes.splice(0)).toEqual([`PATCH ${APPLICATIONS}/${agent.id}`])
    expect((await tenant.key.get(`${APPLICATIONS}/${agent.id}`)).body.settings).toMatchObject({
      captureContent: true,
      retentionDays: 90,
      allowedEnvironments: ['production', 'staging'],
      conversationAccess: { type: 'restricted', userIds: [tenant.userId] },
    })
  })

  test('with conversations is not deleted, and the page says why; one without is', async () => {
    const { page } = browser
    const { body } = await tenant.key.post(APPLICATIONS, { agentKey: 'empty', name: 'Empty' })
    const full = (await tenant.key.get(APPLICATIONS)).body.data.find(
      (one: { agentKey: string }) => one.agentKey === 'support-bot',
    )
    await browser.open(`/settings/agents/${full.id}`)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('alert').getByText('The agent still has conversations').waitFor()
    expect(browser.complaints.splice(0)).toHaveLength(1)
    await browser.open(`/settings/agents/${body.id}`)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'Support bot' }).waitFor()
    expect((await tenant.key.get(`${APPLICATIONS}/${body.id}`)).status).toBe(404)
  })

  test('that another organization has does not exist', async () => {
    const stranger = await createTenant(server)
    const { body } = await stranger.key.post(APPLICATIONS, { agentKey: 'theirs', name: 'Theirs' })
    await browser.open(`/settings/agents/${body.id}`)
    await browser.page.getByRole('alert').getByText('This does not exist').waitFor()
    await browser.page.getByText('agent_application_not_found').waitFor()
    browser.complaints.length = 0
  })
})

test('redaction rules are tried before they are saved; a bad pattern is named', async () => {
  const { page, writes } = browser
  await browser.open('/settings/redaction')
  await page.getByLabel('Field names').fill('password')
  await page.getByLabel('Patterns').fill('[0-9]{4}( [0-9]{4}){3}\n(')
  await page.getByLabel('Text', { exact: true }).fill('Card 4111 1111 1111 1111, {"password": "hunter2"}')
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByRole('alert').getByText('redactedPatterns[1]').waitFor()
  expect(browser.complaints.splice(0)).toHaveLength(1)
  await page.getByLabel('Patterns').fill('[0-9]{4}( [0-9]{4}){3}')
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByText('Card [redacted], {"password": "[redacted]"}').waitFor()
  await browser.expectAccessible()
  const [agent] = (await tenant.key.get(APPLICATIONS)).body.data
  expect(agent.settings.redactedFields).toEqual([])
  writes.length = 0
  await page.getByRole('button', { name: 'Save' }).dblclick()
  await page.getByText('Saved. Version 3').waitFor()
  expect(writes.splice(0)).toEqual([`PATCH ${APPLICATIONS}/${agent.id}`])
  expect((await tenant.key.get(`${APPLICATIONS}/${agent.id}`)).body.settings).toMatchObject({
    redactedFields: ['password'],
    redactedPatterns: ['[0-9]{4}( [0-9]{4}){3}'],
  })
})

test('an address with an agent that is gone leads to no other agent’s rules', async () => {
  await browser.load(`/settings/redaction?agent=${newId()}`)
  await browser.page.getByRole('heading', { name: 'Not found' }).waitFor()
  expect(await browser.page.getByLabel('Patterns').count()).toBe(0)
})

test('the organization is switched, and stays as it was if that fails', async () => {
  const { page, writes } = browser
  await browser.open('')
  await page.getByRole('link', { name: 'Settings' }).click()
  const box = page.getByLabel('Meetings may be recorded')
  await box.waitFor()
  await browser.expectAccessible()
  const before = await box.isChecked()
  await page.route('**/v3/rest/organization', (route) =>
    route.request().method() === 'PATCH' ? route.abort() : route.continue(),
  )
  writes.length = 0
  await box.click()
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  expect(await box.isChecked()).toBe(before)
  await page.unroute('**/v3/rest/organization')
  browser.complaints.length = 0
  await box.click()
  await page.getByRole('alert').waitFor({ state: 'detached' })
  expect((await tenant.key.get('/v3/rest/organization')).body.recordingAllowed).toBe(!before)
  expect(writes.splice(0)).toHaveLength(2)
  // The page loads again, because every count is by these days.
  const again = page.waitForEvent('load')
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo')
  await again
  expect((await tenant.key.get('/v3/rest/organization')).body.timeZone).toBe('Asia/Tokyo')
  await page.getByLabel('Time zone').waitFor()
  expect(await page.getByLabel('Time zone').inputValue()).toBe('Asia/Tokyo')
})

test('a viewer has no link to the settings, and is told who may see them', async () => {
  const { userId } = await server.createUser(tenant.organizationId, 'viewer')
  const viewer = await browser.openBeside(server, userId)
  try {
    expect(await viewer.page.getByRole('link', { name: 'Settings' }).count()).toBe(0)
    const asked: string[] = []
    viewer.page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    for (const section of ['', '/agents', '/api-keys', '/webhooks']) {
      await viewer.load(`/settings${section}`)
      await viewer.page.getByText('Only administrators see and change settings.').waitFor()
    }
    await viewer.expectAccessible()
    const rest = new Set(asked.filter((path) => path.startsWith('/v3/rest/')))
    expect([...rest].filter((path) => !/^\/v3\/rest\/(?:session|stream)$/.test(path))).toEqual([])
    expect(viewer.complaints).toEqual([])
  } finally {
    await viewer.stop()
  }
})

test('a section that does not exist is not found', async () => {
  for (const path of ['/settings/none', '/settings/members/none']) {
    await browser.load(path)
    await browser.page.getByRole('heading', { level: 1, name: /not exist|not found/i }).waitFor()
  }
})

test('the browser had nothing to complain of', () => {
  expect(browser.complaints).toEqual([])
})
