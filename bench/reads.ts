/**
 * Hot operations over real HTTP: right after a burst, when PostgreSQL has no statistics of the new rows; during ingestion; and
 * after `vacuum analyze`. A list must not be slow without statistics, and no caller should wait much longer than others.
 *
 * The burst consists of sessions of six events, sent over HTTP, and as many rows of every other kind, written directly.
 * Autovacuum is off, so that statistics appear only on command.
 */
import { loadConfig } from '../src/app/config.ts'
import { createContainer } from '../src/app/container.ts'
import { createFeatures } from '../src/app/features.ts'
import { type BurstOwner, burstId, loadBurst } from '../tests/support/burst.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { createTenant, event, type Tenant } from './support/ingestion.ts'
import { inParallel, table } from './support/measure.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'

const SESSIONS = Number(process.env.BENCH_SESSIONS ?? 12_000)
const EVENTS = 6
const CALLERS = 64
const CONNECTIONS = [8, 32, 64, 128]
const MS = Number(process.env.BENCH_MS ?? 2_000)

interface Operation {
  readonly name: string
  send(): Promise<void>
}

/** Parents of the directly written rows, in the organization of the callers. */
async function createOwner({ databaseUrl, sql }: Environment, tenant: Tenant): Promise<BurstOwner> {
  const { organizationId, applicationId } = tenant
  const config = loadConfig({ DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent' })
  const container = createContainer(config, { database: { url: databaseUrl }, redis: null }, 'bench')
  try {
    const { identity, applications, metadata } = createFeatures(container)
    const { id: userId } = await identity.createUser(organizationId, {
      email: 'reader@example.com',
      name: 'reader',
    })
    const { id: second } = await applications.create(organizationId, { agentKey: 'second', name: 'second' })
    const [canonical] = await metadata.listSources(organizationId, { page: 1, limit: 1 })
    const [source] = await sql<{ id: number }[]>`
      insert into feedback_source (organization_id, name, type) values (${organizationId}, 'bench', 'api') returning id`
    return {
      organizationId,
      userId,
      applicationIds: [applicationId, second],
      feedbackSourceId: source?.id ?? 0,
      metadataSourceId: canonical?.id ?? '',
    }
  } finally {
    await container.close()
  }
}

/** Sends one session of six events; the last is feedback. */
function ingesting(baseUrl: string, { agentSecret }: Tenant): () => Promise<void> {
  return async () => {
    const events = Array.from({ length: EVENTS - 1 }, (_, index) => event(index + 1))
    const feedback = {
      externalEventId: 'feedback',
      sequence: EVENTS,
      revision: 1,
      occurredAt: '2026-01-02T09:01:00.000Z',
      type: 'feedback',
      final: true,
      feedback: { targetEventExternalId: 'event-4', rating: 'positive' },
    }
    await answered(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
      body: JSON.stringify({
        agentKey: 'bench',
        externalSessionId: Bun.randomUUIDv7(),
        events: [...events, feedback],
      }),
    })
  }
}

async function answered(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  await response.arrayBuffer()
}

function operationsOf(baseUrl: string, tenant: Tenant, owner: BurstOwner): readonly Operation[] {
  const headers = { 'x-service-api-key': tenant.apiKey }
  const get = (name: string, path: string): Operation => ({
    name,
    send: () => answered(`${baseUrl}/v3/rest${path}`, { headers }),
  })
  const records = `/feedback-sources/${owner.feedbackSourceId}/records`
  return [
    { name: 'ingest, 6 events', send: ingesting(baseUrl, tenant) },
    get('sessions', '/agent-conversations/sessions'),
    get('sessions of an agent', '/agent-conversations/sessions?agentKey=bench'),
    get('a session and its events', `/agent-conversations/sessions/${burstId(owner, 'session', 70)}`),
    get('signals', '/signals'),
    get('signals since', '/signals?since=2026-01-01T00:00:00Z'),
    get('recordings', '/recordings'),
    get('recordings of a folder', `/recordings?folder_id=${burstId(owner, 'folder', 2)}`),
    get('recordings by a rare word', '/recordings?q=zebra'),
    get('folders', '/folders'),
    get('feedback sources', '/feedback-sources'),
    get('feedback records', records),
    get('people', '/people'),
    get('metadata sources', '/metadata/sources'),
    get('metadata fields', `/metadata/sources/${owner.metadataSourceId}/fields`),
    get('applications', '/agent-applications'),
    get('usage', `/agent-applications/${tenant.applicationId}/usage`),
  ]
}

async function measureAll(operations: readonly Operation[]): Promise<ReadonlyMap<string, Percentiles>> {
  const measured = new Map<string, Percentiles>()
  for (const { name, send } of operations) measured.set(name, await percentilesOf(CALLERS, MS, send))
  return measured
}

/** Sends sessions from eight callers until `work` is done. */
async function whileIngesting<T>(ingest: () => Promise<void>, work: () => Promise<T>): Promise<T> {
  let isOver = false
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver) await ingest()
  })
  try {
    return await work()
  } finally {
    isOver = true
    await Promise.all(callers)
  }
}

/** Waits for the turns of the burst, which would compete for the measured cores. */
async function untilDrained({ sql }: Environment): Promise<void> {
  for (;;) {
    const [row] = await sql<{ left: number }[]>`
      select count(*)::int as left from actor_message where available_at < now() + interval '5 seconds'`
    if (row?.left === 0) return
    await Bun.sleep(200)
  }
}

const ms = (value: number | undefined) => (value ?? Number.NaN).toFixed(1)
const ratio = (a: number | undefined, b: number | undefined) =>
  ((a ?? Number.NaN) / (b ?? Number.NaN)).toFixed(1)
const cells = (one: Percentiles | undefined) => [
  ms(one?.p50),
  ms(one?.p99),
  ms(one?.p999),
  ratio(one?.p99, one?.p50),
]

/** Measures three times and prints two tables. */
export async function benchReads(): Promise<void> {
  await using environment = await openEnvironment(2)
  const { sql } = environment
  await sql.unsafe('alter system set autovacuum = off').simple()
  await sql`select pg_reload_conf()`
  const tenant = await createTenant(environment)
  const owner = await createOwner(environment, tenant)
  await using service = await startService(environment)
  const operations = operationsOf(service.baseUrl, tenant, owner)
  const ingest = ingesting(service.baseUrl, tenant)
  // Everything is read while the database is empty: these plans must not be slow later.
  for (const { send } of operations.slice(1)) await send().catch(() => {})
  await inParallel(SESSIONS, CALLERS, ingest)
  await loadBurst(sql, owner, SESSIONS / 2)
  await untilDrained(environment)

  const sessions = operations.find(({ name }) => name === 'sessions')
  if (sessions === undefined) throw new Error('sessions are not among the operations')
  const sweep: string[][] = []
  for (const connections of CONNECTIONS) {
    const one = await percentilesOf(connections, MS, sessions.send)
    sweep.push([String(connections), Math.round(one.rate).toString(), ...cells(one)])
  }
  const burst = await measureAll(operations)
  const beside = await whileIngesting(ingest, () => measureAll(operations.slice(1)))
  await sql`vacuum analyze`
  const later = await measureAll(operations)

  console.log(
    `Sessions right after a burst of ${SESSIONS} sessions of ${EVENTS} events, milliseconds by connections\n`,
  )
  console.log(table(['connections', 'requests a second', 'p50', 'p99', 'p99.9', 'p99/p50'], sweep))
  console.log(
    `\nMilliseconds at ${CALLERS} connections: at once, while 8 callers ingest, after \`vacuum analyze\`\n`,
  )
  const columns = ['p50', 'p99', 'p99.9', 'p99/p50']
  const header = [
    '',
    ...columns,
    ...columns.map((name) => `ingesting ${name}`),
    ...columns.map((name) => `later ${name}`),
    'p50 at once/later',
  ]
  const rows = operations.map(({ name }) => [
    name,
    ...cells(burst.get(name)),
    ...cells(beside.get(name)),
    ...cells(later.get(name)),
    ratio(burst.get(name)?.p50, later.get(name)?.p50),
  ])
  console.log(table(header, rows))
}
