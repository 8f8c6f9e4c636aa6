/**
 * Ingestion over real HTTP, durable before the response, compared with a bare `postgres` client that inserts the same rows.
 *
 * The bare client is the limit: no HTTP, validation, redaction, hash or look-up of stored rows, and no message
 * to an actor; one INSERT and one COMMIT per batch, over one connection per HTTP caller. Callers and
 * servers share the cores of this machine.
 */

import type { Sql } from '../src/platform/db/pool.ts'
import { cpuOfSelf, cpuOfTree, postgresPid } from './support/cpu.ts'
import {
  type Environment,
  openEnvironment,
  type RunningService,
  startService,
} from './support/environment.ts'
import { CALLERS, createTenant, event, overHttp, type Tenant } from './support/ingestion.ts'
import { type Contestant, compare, inParallel, type Rate, table } from './support/measure.ts'

const ROUNDS = 3
/** Events per request → events per round: enough for a second or two. */
const SIZES = new Map([
  [1, 4_000],
  [50, 40_000],
  [500, 80_000],
])

export function bareClient(
  sql: Sql,
  { organizationId }: Pick<Tenant, 'organizationId'>,
  size: number,
  connections = CALLERS,
): Contestant {
  const fingerprint = Buffer.alloc(32, 7)
  return {
    name: 'bare client',
    async run(amount) {
      await inParallel(amount / size, connections, async () => {
        const session = Bun.randomUUIDv7()
        const rows = Array.from({ length: size }, (_, offset) => {
          const { externalEventId, sequence, revision, occurredAt, type, final, ...body } = event(offset + 1)
          return {
            organization_id: organizationId,
            session_id: session,
            external_event_id: externalEventId,
            sequence,
            revision,
            type,
            final,
            occurred_at: occurredAt,
            body,
            fingerprint,
            settings_version: 1,
          }
        })
        await sql`insert into agent_event ${sql(rows)}`
      })
    },
  }
}

/** One connection that inserts and commits event by event, like a program without group commit. */
function oneByOne(sql: Sql, tenant: Tenant): Contestant {
  const bare = bareClient(sql, tenant, 1, 1)
  return { ...bare, name: 'one connection' }
}

const SIGNALS = 200

/** Sends feedback one by one and polls until its signal is in the list of its session. @returns ms, sorted */
async function untilVisible(baseUrl: string, { agentSecret, apiKey }: Tenant): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < SIGNALS; round++) {
    const answer = { ...event(2), sequence: 1, externalEventId: 'answer' }
    const feedback = {
      externalEventId: 'feedback',
      sequence: 2,
      revision: 1,
      occurredAt: answer.occurredAt,
      type: 'feedback',
      final: true,
      feedback: { targetEventExternalId: 'answer', rating: 'positive' },
    }
    const started = performance.now()
    const response = await fetch(`${baseUrl}/v3/rest/agent-conversations/ingest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-agent-key': agentSecret },
      body: JSON.stringify({
        agentKey: 'bench',
        externalSessionId: Bun.randomUUIDv7(),
        events: [answer, feedback],
      }),
    })
    const { sessionId } = (await response.json()) as { sessionId: string }
    const url = `${baseUrl}/v3/rest/signals?sessionId=${sessionId}`
    for (let seen = 0; seen === 0; ) {
      const page = await fetch(url, { headers: { 'x-service-api-key': apiKey } })
      seen = ((await page.json()) as { data: readonly unknown[] }).data.length
    }
    times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)
}

/** Measures every request size, with and without workers in the process, and the time to the signal. */
export async function benchIngest(): Promise<void> {
  await using environment = await openEnvironment(CALLERS)
  const tenant = await createTenant(environment)
  for (const [notifier, REDIS_URL] of [
    ['Redis', environment.redisUrl],
    ['LISTEN/NOTIFY', ''],
  ] as const) {
    await using service = await startService(environment, { REDIS_URL })
    await printLatency(tenant, service.baseUrl, notifier)
  }
  // Without workers last, because its backlog would run during the other measurement.
  for (const role of ['all', 'api']) {
    await using service = await startService(environment, { ROLE: role })
    await printRates(environment, tenant, service, role)
  }
}

async function printRates(
  environment: Environment,
  tenant: Tenant,
  service: RunningService,
  role: string,
): Promise<void> {
  const { sql, databaseUrl } = environment
  const server = postgresPid(databaseUrl)
  const rates: string[][] = []
  const costs: string[][] = []
  for (const [size, amount] of SIZES) {
    const contestants = [overHttp(service.baseUrl, tenant, size), bareClient(sql, tenant, size)]
    if (size === 1) contestants.push(oneByOne(sql, tenant))
    const [http, bare, single] = await compare(contestants, amount, ROUNDS)
    if (http === undefined || bare === undefined) throw new Error('nothing was measured')
    const beside = (other: Rate | undefined) =>
      other === undefined ? '' : `${Math.round(other.median)} (${(http.median / other.median).toFixed(2)})`
    const spread = `${Math.round(http.rates[0] ?? 0)} – ${Math.round(http.rates.at(-1) ?? 0)}`
    rates.push([String(size), String(Math.round(http.median)), spread, beside(bare), beside(single)])
    const parts = () => [cpuOfSelf(), cpuOfTree(service.pid), cpuOfTree(server)]
    for (const contestant of contestants.slice(0, 2)) {
      const before = parts()
      await contestant.run(amount)
      const used = parts().map((ms, index) => ((ms - (before[index] ?? 0)) / amount) * 1_000)
      const sum = used.reduce((total, part) => total + part, 0)
      costs.push([`${contestant.name}, ${size}`, ...[...used, sum].map((part) => part.toFixed(0))])
    }
  }
  console.log(
    `\nIngestion, ROLE=${role}, ${CALLERS} callers, events a second (median of ${ROUNDS} rounds), fsync on\n`,
  )
  const header = ['events a request', 'Earshot over HTTP', 'lowest – highest']
  console.log(table([...header, `bare, ${CALLERS} connections (ratio)`, 'bare, 1 connection (ratio)'], rates))
  console.log('\nCPU of one event, µs\n')
  console.log(table(['events a request', 'callers', 'service', 'PostgreSQL', 'sum'], costs))
}

async function printLatency(tenant: Tenant, baseUrl: string, notifier: string): Promise<void> {
  const times = await untilVisible(baseUrl, tenant)
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(1)
  console.log(
    `\nFrom the request to its signal in the list, by ${notifier}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (${SIGNALS} in turn)`,
  )
}
