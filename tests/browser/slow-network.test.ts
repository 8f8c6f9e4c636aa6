/** The console over a slow line: 1.6 Mbit/s with 150 ms for each round trip, without a cache, as the browser's own tools emulate it. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { CDPSession, Page } from 'playwright-core'
import { assistantMessage, openAgent, userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

/** Bytes a second. */
const DOWN = 1_600_000 / 8
const SLOW = { offline: false, latency: 150, downloadThroughput: DOWN, uploadThroughput: DOWN }

let server: TestServer
let chromium: Chromium
let page: Page
let network: CDPSession

beforeAll(async () => {
  server = await startTestServer({ actors: true })
  chromium = await startChromium()
  const { tenant } = await openAgent(server)
  page = await chromium.context.newPage()
  const token = await server.features.identity.createLink(tenant.userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((url) => !url.pathname.endsWith('/link'))
  network = await chromium.context.newCDPSession(page)
  await network.send('Network.enable')
  await network.send('Network.setCacheDisabled', { cacheDisabled: true })
  await network.send('Network.emulateNetworkConditions', SLOW)
}, 300_000)

afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

const open = (path = '') => page.goto(`${server.baseUrl}/console${path}`, { waitUntil: 'commit' })

/** What is transferred until `until` resolves: names of paths, and bytes with headers. */
async function transferred(until: () => Promise<unknown>) {
  const paths: string[] = []
  let bytes = 0
  const onRequest = ({ request }: { request: { url: string } }) => {
    const { protocol, pathname } = new URL(request.url)
    if (protocol === 'http:') paths.push(pathname)
  }
  const onFinished = ({ encodedDataLength }: { encodedDataLength: number }) => {
    bytes += encodedDataLength
  }
  network.on('Network.requestWillBeSent', onRequest)
  network.on('Network.loadingFinished', onFinished)
  await until()
  network.off('Network.requestWillBeSent', onRequest)
  network.off('Network.loadingFinished', onFinished)
  return { paths, bytes }
}

test('an empty overview says what to do, and loading shows until then', async () => {
  await open()
  await page.locator('.loading').first().waitFor()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('heading', { name: 'Nothing was said in this period' }).waitFor()
  await page.getByText('earshot demo --remove').waitFor()
})

test('the first page is usable after two requests in a row and 100 kB', async () => {
  const usable = await transferred(async () => {
    await open()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'Themes' }).first().waitFor()
  })
  const isAsset = (path: string) => path.includes('/console/assets/')
  const isData = (path: string) => path.startsWith('/v3/rest/') && path !== '/v3/rest/session'
  const firstData = usable.paths.findIndex(isData)
  const before = usable.paths.slice(0, firstData < 0 ? undefined : firstData)
  // The page, then its script, its style and who is signed in at once. Data follows, and nothing else is needed before.
  expect(before.filter((path) => !isAsset(path))).toEqual(['/console', '/v3/rest/session'])
  expect(before.filter(isAsset)).toHaveLength(2)
  expect(usable.paths.filter((path) => path === '/v3/rest/session')).toHaveLength(1)
  const starts = await page.evaluate<Record<string, number>>(STARTS)
  expect(starts.session).toBeLessThan(starts.scriptEnd ?? 0)
  expect(usable.bytes).toBeGreaterThan(10_000)
  expect(usable.bytes).toBeLessThan(100_000)
})

/** When the session was asked for, and when the script had arrived: milliseconds after the navigation. */
const STARTS = `(() => {
  const named = (part) => performance.getEntriesByType('resource').find(({ name }) => name.includes(part))
  return { session: named('/v3/rest/session').startTime, scriptEnd: named('.js').responseEnd }
})()`

/** Answers wait until the returned function is called. */
async function hold(pattern: string): Promise<() => Promise<void>> {
  const released = Promise.withResolvers<void>()
  await page.route(pattern, async (route) => {
    await released.promise
    await route.continue()
  })
  return async () => {
    released.resolve()
    await page.unrouteAll({ behavior: 'wait' })
  }
}

test('the frame and the title stand while the data of the overview is under way', async () => {
  const release = await hold('**/v3/rest/insights/**')
  await open()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  await page.getByRole('status').filter({ hasText: 'Loading' }).first().waitFor()
  await release()
  await page.getByRole('link', { name: /^Conversations 0/ }).waitFor()
})

test('a request that fails is told, and the rest of the page stays', async () => {
  await page.route('**/v3/rest/insights/**', (route) => route.abort())
  await open()
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  await page.getByRole('heading', { name: 'What hurts' }).waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

test('lists load, are empty, and fail in the same way', async () => {
  const release = await hold('**/v3/rest/agent-conversations/**')
  await open('/conversations')
  await page.getByRole('status').filter({ hasText: 'Loading' }).waitFor()
  await release()
  await page.getByRole('heading', { name: 'No conversation yet' }).waitFor()
  await page.route('**/v3/rest/agent-conversations/**', (route) => route.abort())
  await open('/conversations')
  await page.getByRole('alert').getByText('The service cannot be reached').waitFor()
  await page.unrouteAll({ behavior: 'wait' })
})

test('what arrives shows without a reload, over the slow line too', async () => {
  await open()
  await page.getByRole('link', { name: /^Conversations 0/ }).waitFor()
  const [organization] = await server.features.identity.listOrganizations()
  if (organization === undefined) throw new Error('no organization')
  const application = await server.createApplication(organization.id, { agentKey: 'slow' })
  const agent = server.as({ agentSecret: application.agentSecret })
  const occurredAt = new Date().toISOString()
  const events = [
    userMessage(1, { content: 'The export fails every morning.', occurredAt }),
    assistantMessage(2, { occurredAt }),
  ]
  const body = { agentKey: 'slow', externalSessionId: 'one', status: 'ended', events }
  expect((await agent.post('/v3/rest/agent-conversations/ingest', body)).status).toBeLessThan(300)
  await page.getByRole('link', { name: /^Conversations 1/ }).waitFor({ timeout: 150_000 })
})
