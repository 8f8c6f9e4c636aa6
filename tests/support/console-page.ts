/** The console in a real browser, with somebody signed in. */
import type { BrowserContext, Page } from 'playwright-core'
import { expectAccessible } from './accessibility.ts'
import { type Chromium, startChromium } from './chromium.ts'
import type { TestServer } from './server.ts'

export interface ConsolePage {
  readonly page: Page
  /** What the browser complains of. Expected complaints are removed by the test. */
  readonly complaints: string[]
  /** Methods and paths of requests that change something, in order. */
  readonly writes: string[]
  /** Follows a link to a page of the console, which costs a quarter of loading it. */
  open(path: string): Promise<unknown>
  /** Loads a page of the console anew, as from an address. */
  load(path: string): Promise<unknown>
  /** Rules of WCAG 2.1, levels A and AA, in both colours, at 390 pixels, to which the page fits. */
  expectAccessible(): Promise<void>
  /** Everything that the page shows and that the browser keeps for it. */
  kept(): Promise<string>
  /** Opens the console in the same browser for somebody else, who stops before this one. */
  openBeside(server: TestServer, userId: string): Promise<ConsolePage>
  stop(): Promise<void>
}

/** The router answers links without loading the page again. The page before is gone after two frames. */
const follow = (href: string) => `(async () => {
  const link = document.createElement('a')
  link.href = ${JSON.stringify(href)}
  document.body.append(link)
  link.click()
  link.remove()
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
})()`

const KEPT = `(async () => JSON.stringify({
  local: { ...localStorage },
  session: { ...sessionStorage },
  databases: await indexedDB.databases(),
  caches: await caches.keys(),
  cookies: document.cookie,
  history: history.state,
  address: location.href,
  fields: [...document.querySelectorAll('input, textarea')].map((field) => field.value),
  page: document.documentElement.outerHTML,
}))()`

export async function openConsole(server: TestServer, userId: string): Promise<ConsolePage> {
  const chromium = await startChromium()
  return openIn(chromium, chromium.context, server, userId, chromium.stop)
}

async function openIn(
  chromium: Chromium,
  context: BrowserContext,
  server: TestServer,
  userId: string,
  stop: () => Promise<void>,
): Promise<ConsolePage> {
  const page = await context.newPage()
  const complaints: string[] = []
  const writes: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('request', (request) => {
    if (request.method() !== 'GET') writes.push(`${request.method()} ${new URL(request.url()).pathname}`)
  })
  const token = await server.features.identity.createLink(userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}&to=${encodeURIComponent('/console')}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  writes.length = 0
  return {
    page,
    complaints,
    writes,
    open: (path) => page.evaluate(follow(`/console${path}`)),
    load: (path) => page.goto(`${server.baseUrl}/console${path}`),
    expectAccessible: () => expectAccessible(page),
    kept: () => page.evaluate<string>(KEPT),
    async openBeside(other, otherId) {
      const beside = await chromium.newContext()
      return openIn(chromium, beside, other, otherId, () => beside.close())
    },
    stop,
  }
}
