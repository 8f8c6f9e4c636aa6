/**
 * A real service with two organizations: one attacks, the other measures.
 *
 * What the other measures under the attack is compared with what it measures while as many requests a second are refused with 401.
 * Windows of both kinds alternate, because other work on the machine slows both. Each figure counts in its best pair of windows: a
 * neighbour that pays does so in all of them.
 *
 *     const neighbours = useNeighbours()
 *     test('…', () => expectNeighbourUnharmed(neighbours(), { clients: 100, requests: (all) => [{ method: 'GET', … }] }))
 */
import { afterAll, beforeAll, expect } from 'bun:test'
import { type Agent, APPEND, openAgent } from '../../support/agents.ts'
import { eventually } from '../../support/eventually.ts'
import { type Service, useServices } from '../../support/process.ts'
import { createRecording, RECORDINGS } from '../../support/recordings.ts'
import { rounds } from '../../support/rounds.ts'
import { clientOf, credentialHeaders, startTestServer, type TestServer } from '../../support/server.ts'
import { type LoadRequest, prepareLoad, type Sent } from './load.ts'

/** Limits of the second organization: times of the baseline, milliseconds, and bytes. */
const MOST = { p50: 2, p99: 5, healthMs: 500, rssBytes: 1024 ** 3 } as const
/**
 * Milliseconds that nobody notices. On a quiet machine a request takes two or three, and twice of that says little in one short round. With
 * `--thorough` every multiple counts.
 */
const UNNOTICED = rounds({ p50: 6, p99: 60 }, { p50: 0, p99: 0 })
/** One window, and the most pairs of windows. */
const [WINDOW_MS, PAIRS] = [1_500, 8]
/** The service accepts the tokens of the test's own server. */
const SECRET_KEY = 'n'.repeat(43)
/** Between two measurements of one kind. */
const PAUSE_MS = 10
/** Time for what the attack left to end. */
const QUIET_DEADLINE_MS = 60_000

export interface Neighbours {
  readonly service: Service
  /** Its database, for tests that write rows directly. It serves nothing that is measured. */
  readonly server: TestServer
  readonly attacker: Agent
  readonly neighbour: Agent
  /** A recording of the second organization. */
  readonly recordingId: string
}

/** The requests of one window. */
export interface Attack {
  /** Requests at a time. */
  readonly clients: number
  /** The requests of a window, which are made before it begins. */
  requests(neighbours: Neighbours, window: number): Promise<readonly LoadRequest[]> | readonly LoadRequest[]
  /** False if each request can be sent only once. Default: true. */
  readonly repeats?: boolean
}

/** Registers a service for a test file or a `describe` block. Returns what is there once `beforeAll` has run. */
export function useNeighbours(env: Readonly<Record<string, string>> = {}): () => Neighbours {
  let neighbours: Neighbours | null = null
  let server: TestServer | null = null
  afterAll(async () => {
    await neighbours?.service.kill()
    await server?.stop()
  })
  const services = useServices()
  beforeAll(async () => {
    server = await startTestServer({ env: { SECRET_KEY } })
    const limits = ['READS', 'WRITES', 'AGENT_INGEST', 'FEEDBACK', 'TOOLS', 'FAILED_AUTHENTICATION']
    const service = await services.start({
      env: {
        DATABASE_URL: server.database.url,
        SECRET_KEY,
        LOG_LEVEL: 'error',
        ...Object.fromEntries(limits.map((name) => [`RATE_LIMIT_${name}`, '0'])),
        ...env,
      },
    })
    const [attacker, neighbour] = [await openAgent(server), await openAgent(server)]
    const client = clientOf(service.baseUrl, { apiKey: neighbour.tenant.apiKey })
    const { id: recordingId } = await createRecording(client, { displayName: 'Measured' })
    neighbours = { service, server, attacker, neighbour, recordingId }
    await warmUp(neighbours)
  }, 120_000)
  return () => {
    if (neighbours === null) throw new Error('the service has not started')
    return neighbours
  }
}

/** The headers of a request of the attacker: with its API key, as JSON. */
export const attackersHeaders = ({ attacker }: Neighbours): Record<string, string> => ({
  ...credentialHeaders({ apiKey: attacker.tenant.apiKey }),
  'content-type': 'application/json',
})

const KINDS = ['write', 'append', 'list', 'count', 'health'] as const
type Kind = (typeof KINDS)[number]
type Times = Readonly<Record<Kind, readonly number[]>>

interface Window {
  readonly times: Times
  readonly sent: Sent
  /** The largest resident memory of the service. */
  readonly rssBytes: number
}

/** What is wrong in the best pair of windows for each figure. */
export interface Comparison {
  readonly broken: readonly string[]
  /** One line for each figure. */
  readonly figures: readonly string[]
  /** Answers to the attack. */
  readonly statuses: Readonly<Record<string, number>>
}

/** Fails if the neighbour pays for the attack. Returns the answers to the attack by status. */
export async function expectNeighbourUnharmed(
  neighbours: Neighbours,
  attack: Attack,
): Promise<Readonly<Record<string, number>>> {
  const { broken, figures, statuses } = await compare(neighbours, attack)
  expect({ broken, ...(broken.length > 0 ? { figures, statuses } : {}) }).toEqual({ broken: [] })
  return statuses
}

/** Takes pairs of windows until no figure is broken in its best pair, or there were `pairs` of them. */
export async function compare(
  neighbours: Neighbours,
  attack: Attack,
  pairs: number = PAIRS,
): Promise<Comparison> {
  const best = new Map<string, Figure>()
  const statuses: Record<string, number> = {}
  for (let pair = 0; pair < pairs; pair++) {
    const requests = await attack.requests(neighbours, pair)
    const attacked = await window(neighbours, attack, requests, null)
    const refused = requests.map(({ leaveMs: _, ...one }) => ({
      ...one,
      headers: { ...one.headers, ...WRONG },
    }))
    const perSecond = (attacked.sent.sent * 1_000) / WINDOW_MS
    const calm = await window(neighbours, { ...attack, repeats: true }, refused, perSecond)
    // Otherwise it would not be the load that it is compared with.
    expect(Object.keys(calm.sent.statuses)).toEqual(['401'])
    for (const [status, count] of Object.entries(attacked.sent.statuses))
      statuses[status] = (statuses[status] ?? 0) + count
    for (const figure of figuresOf(attacked, calm)) {
      const known = best.get(figure.name)
      if (known === undefined || figure.part < known.part) best.set(figure.name, figure)
    }
    if ([...best.values()].every(({ part }) => part <= 1)) break
  }
  const all = [...best.values()]
  return {
    broken: all.filter(({ part }) => part > 1).map(({ text }) => text),
    figures: all.map(({ text }) => text),
    statuses,
  }
}

/** Every credential that a request of the attack may have, replaced by one that is refused. */
const WRONG = {
  'x-service-api-key': 'wrong',
  'x-service-agent-key': 'wrong',
  authorization: 'Bearer wrong',
} as const

interface Figure {
  readonly name: string
  readonly text: string
  /** Of what is allowed. */
  readonly part: number
}

function figuresOf(attacked: Window, calm: Window): readonly Figure[] {
  const figures: Figure[] = []
  for (const kind of KINDS) {
    for (const [name, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      const [ms, baseMs] = [quantile(attacked.times[kind], share), quantile(calm.times[kind], share)]
      const times = ms / baseMs
      const text = `${kind} ${name}: ${ms.toFixed(1)} ms, ${times.toFixed(1)} times ${baseMs.toFixed(1)} ms`
      const part = ms - baseMs < UNNOTICED[name] ? Math.min(1, times / MOST[name]) : times / MOST[name]
      if (kind !== 'health') figures.push({ name: `${kind} ${name}`, text, part })
    }
  }
  const healthMs = Math.max(...attacked.times.health)
  const { rssBytes } = attacked
  figures.push(
    { name: 'health', text: `health: ${healthMs.toFixed(0)} ms at most`, part: healthMs / MOST.healthMs },
    {
      name: 'memory',
      text: `memory: ${(rssBytes / 1024 ** 2).toFixed(0)} MiB`,
      part: rssBytes / MOST.rssBytes,
    },
  )
  return figures
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.POSITIVE_INFINITY
}

/** Measures for the length of a window beside the load, and waits until all is quiet again. */
async function window(
  neighbours: Neighbours,
  { clients, repeats = true }: Attack,
  requests: readonly LoadRequest[],
  perSecond: number | null,
): Promise<Window> {
  const { service } = neighbours
  const load = await prepareLoad({
    baseUrl: service.baseUrl,
    ...{ requests, clients, repeats, perSecond, ms: WINDOW_MS },
  })
  const sent = load.begin()
  const measured = await measure(neighbours)
  const window = { ...measured, sent: await sent }
  expect(isAlive(service.pid)).toBe(true)
  await untilQuiet(neighbours)
  return window
}

async function measure(neighbours: Neighbours): Promise<Pick<Window, 'times' | 'rssBytes'>> {
  const until = performance.now() + WINDOW_MS
  const requests = requestsOf(neighbours)
  const times = Object.fromEntries(KINDS.map((kind) => [kind, []])) as unknown as Record<Kind, number[]>
  let rssBytes = 0
  const repeat = async (work: () => Promise<void>, pauseMs: number) => {
    do {
      await work()
      await Bun.sleep(pauseMs)
    } while (performance.now() < until)
  }
  await Promise.all([
    ...KINDS.map((kind) =>
      repeat(async () => {
        const begun = performance.now()
        expect(await requests[kind]()).toBe(200)
        times[kind].push(performance.now() - begun)
      }, PAUSE_MS),
    ),
    repeat(async () => {
      rssBytes = Math.max(rssBytes, await residentBytes(neighbours.service.pid))
    }, 250),
  ])
  return { times, rssBytes }
}

/** Requests of the second organization. Each returns the status of its answer. */
function requestsOf({
  service,
  neighbour,
  recordingId,
}: Neighbours): Readonly<Record<Kind, () => Promise<number>>> {
  const client = clientOf(service.baseUrl, { apiKey: neighbour.tenant.apiKey })
  const agent = clientOf(service.baseUrl, { agentSecret: neighbour.agentSecret })
  const externalSessionId = crypto.randomUUID()
  const path = `${RECORDINGS}/${recordingId}`
  let number = 0
  return {
    write: async () => (await client.patch(path, { displayName: `Measured ${number++}` })).status,
    async append() {
      const event = {
        type: 'user_message',
        content: 'How do I export my data?',
        externalEventId: `e${number++}`,
      }
      const body = { agentKey: neighbour.agentKey, externalSessionId, events: [event] }
      return (await agent.post(APPEND, body)).status
    },
    list: async () => (await client.get(RECORDINGS)).status,
    count: async () => (await client.get('/v3/rest/insights/counts?metric=signals&by=day')).status,
    health: async () => (await client.get('/health')).status,
  }
}

async function warmUp(neighbours: Neighbours): Promise<void> {
  const requests = requestsOf(neighbours)
  for (let round = 0; round < 5; round++)
    for (const kind of KINDS) expect({ kind, status: await requests[kind]() }).toEqual({ kind, status: 200 })
}

/** No statement of the service runs or waits any more. */
async function untilQuiet({ server }: Neighbours): Promise<void> {
  const { sql } = server.database
  await eventually(
    async () => {
      const busy = await sql`
        select 1 from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
          and application_name in ('earshot', 'earshot-reads')`
      return busy.length === 0
    },
    { deadlineMs: QUIET_DEADLINE_MS },
  )
}

async function residentBytes(pid: number): Promise<number> {
  const text = await new Response(Bun.spawn(['ps', '-o', 'rss=', '-p', String(pid)]).stdout).text()
  return Number(text.trim()) * 1024
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
