/** The console without a network, behind a proxy whose service is away, and at a link to another organization of the person. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openAgent, userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

let server: TestServer
let chromium: Chromium
let page: Page
let other: Awaited<ReturnType<typeof openAgent>>

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  chromium = await startChromium()
  const agent = await openAgent(server)
  await agent.accept([userMessage(1, { content: 'The export fails.' })], { externalSessionId: 'chat-1' })
  other = await openAgent(server)
  await other.accept([userMessage(1, { content: 'Of the other organization.' })], {
    externalSessionId: 'chat-2',
  })
  await server.database.sql`
    insert into membership (organization_id, user_id, role)
    values (${other.tenant.organizationId}, ${agent.tenant.userId}, 'administrator')`
  page = await chromium.context.newPage()
  const token = await server.features.identity.createLink(agent.tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => !url.pathname.endsWith('/link'))
  await page.evaluate(`localStorage.setItem('earshot.organization', '${agent.tenant.organizationId}')`)
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

const link = (name: string) => page.getByRole('navigation').getByRole('link', { name })

test('a page that was opened without a network shows its content when the network is back', async () => {
  await page.goto(`${server.baseUrl}/console/people`)
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await chromium.context.setOffline(true)
  await link('Conversations').click()
  await page.getByText('The service cannot be reached.').first().waitFor()
  await chromium.context.setOffline(false)
  await page.locator('main li a').first().waitFor()
  expect(await page.getByText('The service cannot be reached.').count()).toBe(0)
})

test('a page whose code was not loaded yet shows its content when the network is back', async () => {
  await page.goto(`${server.baseUrl}/console/people`)
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await chromium.context.setOffline(true)
  await link('Settings').click()
  await page.getByText('The service cannot be reached.').first().waitFor()
  await chromium.context.setOffline(false)
  await page.getByLabel('Time zone').waitFor()
})

test('a page whose proxy said that the service is away shows its content when the service is back', async () => {
  await page.goto(`${server.baseUrl}/console/people`)
  await page.getByRole('heading', { name: 'People' }).waitFor()
  let answers = 0
  await page.route('**/v3/rest/**', (route) => {
    answers++
    return answers > 6 ? route.fallback() : route.fulfill({ status: 502, body: 'Bad Gateway' })
  })
  await link('Conversations').click()
  await page.getByText('The service answered 502.').first().waitFor()
  await page.locator('main li a').first().waitFor()
  await page.unroute('**/v3/rest/**')
})

test('a link to another organization of the person offers to switch', async () => {
  const { body } = await server
    .as({ apiKey: other.tenant.apiKey })
    .get('/v3/rest/agent-conversations/sessions')
  const path = `/console/conversations/${body.data[0].id}`
  await page.goto(`${server.baseUrl}${path}`)
  await page.getByRole('button', { name: 'Switch to' }).click()
  await page.getByText('Of the other organization.').waitFor()
  expect(new URL(page.url()).pathname).toBe(path)
  // What none of the person's organizations has is offered nowhere. Each of the two was asked.
  const unknown = crypto.randomUUID()
  const asked = new Set<string | undefined>()
  const isLast = page.waitForResponse((response) => {
    const request = response.request()
    if (request.url().includes(`/sessions/${unknown}`))
      asked.add(request.headers()['x-service-organization-key'])
    return asked.size === 2
  })
  await page.goto(`${server.baseUrl}/console/conversations/${unknown}`)
  await isLast
  await page.getByRole('heading', { name: 'This does not exist' }).waitFor()
  expect(await page.getByRole('button', { name: 'Switch to' }).count()).toBe(0)
})
