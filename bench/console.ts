/**
 * Every request of every page of the console, over HTTP, in an organization with 10⁶ signals. A browser opens the pages; then each of its
 * requests is repeated alone, and those of the overview at once, as the page sends them. The reader may not see one of five applications.
 */
import { startChromium } from '../tests/support/chromium.ts'
import { consoleRoutes, routeOf } from '../tests/support/console-routes.ts'
import { openVisitor } from '../tests/support/console-visitor.ts'
import { createLinkToken, loadConsoleData } from './support/console-data.ts'
import { openEnvironment, startService } from './support/environment.ts'
import { table } from './support/measure.ts'

const SIGNALS = Number(process.env.BENCH_SIGNALS ?? 1_000_000)
const OVERVIEW_MS = 300
const LIST_MS = 50
const TIMES = 20

interface Request {
  readonly route: string
  /** Path and query of the page below `/console`. */
  readonly address: string
  readonly url: string
}

/** Prints p50 and p99 of each request, and the ratio of p50 to its limit. */
export async function benchConsole(): Promise<void> {
  await using environment = await openEnvironment(2)
  const started = performance.now()
  const data = await loadConsoleData(environment, SIGNALS)
  console.log(`${SIGNALS} signals loaded in ${((performance.now() - started) / 1_000).toFixed(0)} s`)
  await using service = await startService(environment, { ROLE: 'api' })
  const { requests, headers } = await requestsOfPages(environment, service.baseUrl, data)
  const get = async (url: string) => {
    const response = await fetch(`${service.baseUrl}${url}`, { headers })
    if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
    return (await response.arrayBuffer()).byteLength
  }
  const rows: string[][] = []
  for (const { route, url } of requests)
    rows.push([
      route || 'overview',
      shortened(url),
      ...shown(await timesOf(() => get(url)), LIST_MS),
      ((await get(url)) / 1_000).toFixed(1),
    ])
  const overview = requests.filter(({ address }) => address === '')
  const together = await timesOf(() => Promise.all(overview.map(({ url }) => get(url))))
  rows.push(['overview', `${overview.length} requests at once`, ...shown(together, OVERVIEW_MS), ''])
  console.log(
    `\nConsole at ${SIGNALS} signals, one caller, ms; ratio to ${LIST_MS} ms, of the overview as a whole to ${OVERVIEW_MS} ms\n`,
  )
  console.log(table(['page', 'request', 'p50 ms', 'ratio', 'p99 ms', 'kB'], rows))
}

/** What a browser asks for on each page, each request once. */
async function requestsOfPages(
  environment: Parameters<typeof createLinkToken>[0],
  baseUrl: string,
  { organizationId, userId, sessionId }: Awaited<ReturnType<typeof loadConsoleData>>,
): Promise<{ readonly requests: readonly Request[]; readonly headers: Record<string, string> }> {
  const chromium = await startChromium()
  try {
    const createLink = (id: string) => createLinkToken(environment, id)
    const visitor = await openVisitor(chromium, { baseUrl, createLink }, userId, organizationId)
    const routes = await consoleRoutes()
    const addresses = routes.filter((route) => !route.includes(':'))
    addresses.push(
      '?days=7',
      '?days=90',
      `/conversations/${sessionId}`,
      '/search?q=export',
      '/search?q=word77',
    )
    addresses.push('/findings?kind=praise', '/findings?rating=negative', '/themes?sort=rising')
    const requests = new Map<string, Request>()
    for (let n = 0; n < addresses.length; n++) {
      const address = addresses[n] ?? ''
      const first = visitor.exchanges.length
      const { links } = await visitor.visit(address)
      const route = routeOf(routes, address.split('?')[0] ?? '') ?? ''
      for (const { url } of visitor.exchanges.slice(n === 0 ? 0 : first))
        if (!requests.has(url)) requests.set(url, { route, address, url })
      for (const link of links) {
        const of = routeOf(routes, link)
        if (of?.includes(':') && !addresses.some((one) => routeOf(routes, one) === of)) addresses.push(link)
      }
    }
    const headers = await visitor.headers()
    await visitor.close()
    return { requests: [...requests.values()], headers }
  } finally {
    await chromium.stop()
  }
}

async function timesOf(run: () => Promise<unknown>): Promise<readonly number[]> {
  for (let n = 0; n < 6; n++) await run()
  const times: number[] = []
  for (let n = 0; n < TIMES; n++) {
    const start = performance.now()
    await run()
    times.push(performance.now() - start)
  }
  return times.toSorted((a, b) => a - b)
}

function shown(sorted: readonly number[], limit: number): readonly string[] {
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return [at(0.5).toFixed(1), (at(0.5) / limit).toFixed(2), at(0.99).toFixed(1)]
}

const shortened = (url: string) =>
  decodeURIComponent(url)
    .replace('/v3/rest/', '')
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')
    .replace(/(since|until)=[^&]*&?/g, '')
