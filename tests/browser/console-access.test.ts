/**
 * Every page of the console, and the event stream, for every role and for callers outside: nothing of an application or a folder that a
 * caller may not read appears on a page, in an answer to a request of any page, or in an event.
 *
 * The pages come from the route table of the console, and the requests are those that a browser makes.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { QUICK } from '../support/actors.ts'
import { userMessage } from '../support/agents.ts'
import { type Chromium, startChromium } from '../support/chromium.ts'
import { type AccessData, type Caller, type Hidden, seedAccess } from '../support/console-access.ts'
import { consoleRoutes, routeOf } from '../support/console-routes.ts'
import { openVisitor, type Visit } from '../support/console-visitor.ts'
import { openStream } from '../support/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

setDefaultTimeout(300_000)

/**
 * What a page shows to those who may read it, by route. A new page of the console gets a line here: without one it would be
 * unknown whether the page was empty or kept to the rules.
 */
const SHOWS: Readonly<Record<string, readonly Hidden[]>> = {
  '': ['conversation'],
  '/findings': ['conversation'],
  '/conversations': ['conversation'],
  '/conversations/:id': ['conversation'],
  '/calls': ['call'],
  '/calls/:id': ['call'],
  '/feedback': [],
  '/feedback/import': [],
  '/feedback/:source/:id': [],
  '/people': [],
  '/people/:id': ['conversation'],
  '/themes': [],
  '/themes/:id': ['conversation'],
  '/search': ['conversation', 'call'],
  '/health': [],
  '/settings': [],
  '/settings/:section': [],
  '/settings/:section/:id': [],
}
/** Pages of one route that are visited, beside those that the data names. */
const PAGES_A_ROUTE = 20

interface Round {
  readonly caller: Caller
  readonly visits: readonly Visit[]
  readonly requests: readonly string[]
  readonly answers: readonly { readonly url: string; readonly body: string }[]
  readonly headers: Record<string, string>
  readonly violations: readonly string[]
}

let server: TestServer
let chromium: Chromium
let data: AccessData
let routes: readonly string[]
const addresses: string[] = []
const rounds: Round[] = []

beforeAll(async () => {
  server = await startTestServer({ actors: QUICK })
  chromium = await startChromium()
  routes = await consoleRoutes()
  data = await seedAccess(server)
  for (const route of routes)
    addresses.push(...(data.addresses[route] ?? []), ...(route.includes(':') ? [] : [route]))
  for (const caller of data.callers) rounds.push(await goRound(caller))
}, 300_000)
afterAll(async () => {
  await chromium?.stop()
  await server?.stop()
})

/** Visits every known page. Those that its links lead to become known. */
async function goRound(caller: Caller): Promise<Round> {
  const { baseUrl, features } = server
  const site = { baseUrl, createLink: features.identity.createLink }
  const visitor = await openVisitor(chromium, site, caller.userId, caller.organizationId)
  const visits: Visit[] = []
  for (let n = 0; n < addresses.length; n++) {
    const visit = await visitor.visit(addresses[n] ?? '')
    visits.push(visit)
    for (const link of visit.links) addAddress(link)
  }
  const headers = await visitor.headers()
  await visitor.close()
  const requests = visitor.exchanges.map(({ url }) => url)
  return { caller, visits, requests, answers: visitor.exchanges, headers, violations: visitor.violations }
}

function addAddress(path: string): void {
  const route = routeOf(routes, path)
  if (route === undefined || addresses.includes(path)) return
  const known = addresses.filter((one) => routeOf(routes, pathOf(one)) === route)
  if (known.length < PAGES_A_ROUTE) addresses.push(path)
}

const pathOf = (address: string) => address.split('?')[0] ?? ''

/** Administrators see who read or changed which object: its id, and nothing else of it. */
const isAudit = (given: string) => /\/audit($|\?)/.test(given)

/** What the caller must not see: words, and ids that the caller does not give. */
function secretsFor({ reads }: Caller, given: string): readonly string[] {
  const hidden = (['conversation', 'call'] as const).filter((one) => !reads.includes(one))
  const ids = (isAudit(given) ? [] : hidden)
    .flatMap((one) => data.ids[one])
    .filter((id) => !given.includes(id))
  return [...hidden.flatMap((one) => data.words[one]), ...ids]
}

const found = (caller: Caller, given: string, content: string) =>
  secretsFor(caller, given).filter((secret) => content.includes(secret))

test('every page of the route table has an expectation and was visited', () => {
  expect(Object.keys(SHOWS).toSorted()).toEqual(routes.toSorted())
  const visited = new Set(addresses.map((address) => routeOf(routes, pathOf(address))))
  expect(routes.filter((route) => !visited.has(route))).toEqual([])
})

test('a page shows what the caller may read', () => {
  const missing = rounds.flatMap(({ caller, visits }) =>
    routes.flatMap((route) => {
      const text = visits
        .filter(({ address }) => routeOf(routes, pathOf(address)) === route)
        .map((visit) => visit.text)
        .join('\n')
      const expected = (SHOWS[route] ?? []).filter((one) => caller.reads.includes(one))
      return expected
        .filter((one) => !data.words[one].some((word) => text.includes(word)))
        .map((one) => `${caller.name}: no ${one} at ${route}`)
    }),
  )
  expect(missing).toEqual([])
})

test('no page shows what the caller may not read', () => {
  const shown = rounds.flatMap(({ caller, visits }) =>
    visits.flatMap(({ address, text, html }) =>
      found(caller, address, `${text}\n${html}`).map((secret) => `${caller.name}: ${secret} at ${address}`),
    ),
  )
  expect(shown).toEqual([])
})

test('no answer to a request of any page contains what the caller may not read', async () => {
  const requests = [...new Set(rounds.flatMap((round) => round.requests))]
  expect(requests.length).toBeGreaterThan(routes.length)
  const told: string[] = []
  for (const { caller, answers, headers } of rounds) {
    const answersTo = async (organizationId: string) =>
      Promise.all(
        requests.map(async (url) => {
          const response = await fetch(`${server.baseUrl}${url}`, {
            headers: { ...headers, 'x-service-organization-key': organizationId },
          })
          return { url, body: await response.text() }
        }),
      )
    const asked = await Promise.all([...new Set([caller.organizationId, data.organizationId])].map(answersTo))
    for (const { url, body } of [...answers, ...asked.flat()])
      told.push(...found(caller, url, body).map((secret) => `${caller.name}: ${secret} in ${url}`))
  }
  expect([...new Set(told)]).toEqual([])
})

test('no page breaks the content security policy', () => {
  expect(rounds.flatMap(({ violations }) => violations)).toEqual([])
})

describe('the event stream', () => {
  test('tells of an application to those who may read it, and of the open one to the others', async () => {
    const streams = await Promise.all(
      rounds.map(async ({ caller, headers }) => ({
        caller,
        stream: await openStream(server.baseUrl, 'nobody', { headers }),
      })),
    )
    const say = (agent: AccessData['open'], externalSessionId: string) =>
      agent.accept([userMessage(1, { content: 'A tamarillo and the pepino of Quillon.' })], {
        externalSessionId,
      })
    const { sessionId: hidden } = await say(data.restricted, 'hidden-later')
    const { sessionId: shown } = await say(data.open, 'open-later')
    for (const { caller, stream } of streams) {
      expect([caller.name, stream.status]).toEqual([caller.name, 200])
      const isMember = caller.organizationId === data.organizationId
      if (isMember) await eventually(() => stream.text().includes(shown))
      if (caller.reads.includes('conversation')) await eventually(() => stream.text().includes(hidden))
    }
    for (const { caller, stream } of streams) {
      if (!caller.reads.includes('conversation')) expect(stream.text()).not.toContain(hidden)
      if (caller.organizationId !== data.organizationId) expect(stream.events).toEqual([])
      await stream.close()
    }
  })
})
