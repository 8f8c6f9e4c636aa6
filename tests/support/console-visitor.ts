/** Somebody who opens pages of the console in a browser: what the pages show, what they ask for, and what is answered. */
import type { Page, Request } from 'playwright-core'
import type { Chromium } from './chromium.ts'
import { eventually } from './eventually.ts'

interface Exchange {
  /** Path and query. */
  readonly url: string
  readonly status: number
  readonly body: string
}

export interface Visit {
  /** Path and query below `/console`. */
  readonly address: string
  /** What a person reads. */
  readonly text: string
  readonly html: string
  /** Paths below `/console` of the links, without queries. */
  readonly links: readonly string[]
}

export interface Visitor {
  /** Every answer to a GET of the REST interface so far. */
  readonly exchanges: readonly Exchange[]
  /** What the browser says of the content security policy. */
  readonly violations: readonly string[]
  /** Headers of a request of this session. */
  headers(): Promise<Record<string, string>>
  visit(address: string): Promise<Visit>
  close(): Promise<void>
}

const REST = '/v3/rest/'
/** It never ends. */
const isStream = (url: string) => url.includes(`${REST}stream`)
const FRAMES =
  'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))'
/** The router answers links without loading the page again. */
const follow = (href: string) => `{
  const link = document.createElement('a')
  link.href = ${JSON.stringify(href)}
  document.body.append(link)
  link.click()
  link.remove()
}`
const SEEN = `({
  text: document.body.innerText,
  html: document.documentElement.outerHTML,
  isLoading: [...document.querySelectorAll('.loading, [role=status]')].some((one) => /^Loading/.test(one.textContent)),
  links: [...document.querySelectorAll('a[href]')].map((one) => one.pathname),
})`

/** Signs in with a new page of the browser. Nobody else may be signed in meanwhile. */
export async function openVisitor(
  { context }: Chromium,
  server: { readonly baseUrl: string; createLink(userId: string): Promise<string> },
  userId: string,
  organizationId: string,
): Promise<Visitor> {
  await context.clearCookies()
  const page = await context.newPage()
  const exchanges: Exchange[] = []
  const violations: string[] = []
  const reading: Promise<void>[] = []
  const open = new Set<Request>()
  let begun = 0
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) violations.push(message.text())
  })
  page.on('request', (request) => {
    if (isStream(request.url())) return
    begun += 1
    open.add(request)
  })
  page.on('requestfailed', (request) => open.delete(request))
  page.on('requestfinished', (request) => {
    reading.push(
      read(request).then((one) => {
        if (one !== null) exchanges.push(one)
        open.delete(request)
      }),
    )
  })
  const token = await server.createLink(userId)
  await page.goto(`${server.baseUrl}/sign-in/link?token=${token}&to=${encodeURIComponent('/console')}`)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  return {
    exchanges,
    violations,
    async headers() {
      const cookies = await context.cookies()
      return {
        cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
        'x-service-organization-key': organizationId,
      }
    },
    async visit(address) {
      await page.evaluate(follow(`/console${address}`))
      const { text, html, links } = await settled(page, () => [begun, open.size])
      return { address, text, html, links: consoleLinks(links) }
    },
    async close() {
      await Promise.all(reading)
      await page.close()
    },
  }
}

async function read(request: Request): Promise<Exchange | null> {
  const { pathname, search } = new URL(request.url())
  if (request.method() !== 'GET' || !pathname.startsWith(REST)) return null
  const response = await request.response()
  // A body is gone if the page dropped the request.
  const body = (await response?.text().catch(() => '')) ?? ''
  return { url: `${pathname}${search}`, status: response?.status() ?? 0, body }
}

/** Waits until no request is under way and none follows, and nothing is shown as loading. */
async function settled(page: Page, requests: () => readonly [begun: number, open: number]) {
  interface Seen {
    readonly text: string
    readonly html: string
    readonly isLoading: boolean
    readonly links: readonly string[]
  }
  let seen: Seen | undefined
  await eventually(async () => {
    const [before] = requests()
    await page.evaluate(FRAMES)
    seen = await page.evaluate<Seen>(SEEN)
    const [after, open] = requests()
    return after === before && open === 0 && !seen.isLoading
  })
  if (seen === undefined) throw new Error('the page was not read')
  return seen
}

const consoleLinks = (paths: readonly string[]) => [
  ...new Set(
    paths.filter((path) => /^\/console(\/|$)/.test(path)).map((path) => path.slice('/console'.length)),
  ),
]
