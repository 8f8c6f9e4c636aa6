/**
 * Counts over HTTP in an organization with 10⁷ signals of a year: 5 agents, 11 kinds, 8 areas and 36 versions, of which 3 are in use on a day.
 *
 * `BENCH_SIGNAL_ROWS` signals (10⁶ by default) are stored as rows, whose triggers note changes. The notes of the others are written directly;
 * `BENCH_SIGNALS` is the number of both. All notes are folded as in the service.
 */

import { connect, type Sql } from '../src/platform/db/pool.ts'
import { foldAll } from '../src/understand/counts/fold.ts'
import { openEnvironment, startService } from './support/environment.ts'
import { createTenant, type Tenant } from './support/ingestion.ts'
import { table } from './support/measure.ts'

const SIGNALS = Number(process.env.BENCH_SIGNALS ?? 10_000_000)
const ROWS = Math.min(SIGNALS, Number(process.env.BENCH_SIGNAL_ROWS ?? 1_000_000))
const LIMIT_MS = 300
const TIMES = 20
const APPLICATIONS = 5

const QUERIES = [
  'metric=signals&by=day',
  'metric=signals&by=day,kind',
  'metric=signals&by=week,rating',
  'metric=signals&by=kind,agentKey',
  'metric=signals&by=week,kind&kind=praise',
  'metric=signals&by=productArea',
  'metric=signals&by=week,productArea',
  'metric=signals&by=productArea,agentVersion',
  'metric=signals&by=day,kind&productArea=area-3',
  'metric=signals&by=kind&agentVersion=1.7',
]

/** Prints p50 and p99 of each query, and their ratio to the limit. */
export async function benchCounts(): Promise<void> {
  await using environment = await openEnvironment(2)
  const sql = connect(
    { url: environment.databaseUrl },
    { max: 1, applicationName: 'bench', statementTimeoutMs: null },
  )
  const tenant = await createTenant(environment)
  const started = performance.now()
  await load(sql, tenant)
  const folded = await foldAll(sql, new AbortController().signal)
  await sql`vacuum analyze`
  const [size] = await sql`
    select
      (select sum(count)::text from insight_count where level = 3) as signals,
      (select count(*)::int from agent_signal) as rows,
      (select count(*)::int from insight_count) as counts,
      pg_size_pretty(pg_total_relation_size('insight_count')) as size`
  console.log(`loaded in ${((performance.now() - started) / 1_000).toFixed(0)} s, ${folded} changes folded`)
  await using service = await startService(environment, { ROLE: 'api' })
  const rows: string[][] = []
  for (const query of QUERIES) {
    const times = await timesOf(() => count(service.baseUrl, tenant, query))
    rows.push([query, ...[0.5, 0.99].flatMap((share) => shown(times, share))])
  }
  console.log(`\nCounts over a year, one caller; ratio to ${LIMIT_MS} ms; ${JSON.stringify(size)}\n`)
  console.log(table(['query', 'p50 ms', 'ratio', 'p99 ms', 'ratio'], rows))
  await sql.end({ timeout: 5 })
}

async function load(sql: Sql, { organizationId }: Tenant): Promise<void> {
  await sql`
    insert into agent_application (id, organization_id, agent_key, name)
    select gen_random_uuid(), ${organizationId}, 'bench-' || n, 'bench' from generate_series(2, ${APPLICATIONS}::int) n`
  await sql`
    insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status)
    select gen_random_uuid(), organization_id, id, 'bench', 'ended', 'completed'
    from agent_application where organization_id = ${organizationId}`
  await sql`
    create unlogged table bench_said as
    select
      n, 1 + n % ${APPLICATIONS}::int as application, d as day, 'kind-' || (n / 7 % 11) as kind,
      case when n / 7 % 11 in (0, 3, 6, 8) then 'negative' when n / 7 % 11 = 4 then 'positive' end as rating,
      'area-' || floor(8 * random())::int as area, '1.' || (d / 10 + floor(3 * random())::int) as version
    from (select n, floor(366 * random())::int as d from generate_series(1, ${SIGNALS}::int) n) x`
  await sql`
    create unlogged table bench_session as
    select row_number() over () as application, id, application_id from agent_session where organization_id = ${organizationId}`
  await sql`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, external_event_id, sequence, revision, occurred_at,
      product_area, agent_version
    )
    select
      gen_random_uuid(), ${organizationId}, s.application_id, s.id, 'explicit_feedback', b.kind, b.rating, 'e' || b.n, b.n, 1,
      date_trunc('day', now()) - b.day * interval '1 day', b.area, b.version
    from bench_said b join bench_session s using (application)
    where b.n <= ${ROWS}::int`
  await sql`
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, kind, rating, product_area, agent_version, change
    )
    select
      ${organizationId}, 'signals', current_date - b.day, 'conversation', s.application_id, b.kind, b.rating, b.area, b.version, count(*)
    from bench_said b join bench_session s using (application)
    where b.n > ${ROWS}::int
    group by 3, 5, 6, 7, 8, 9`
  await sql`drop table bench_said`
}

async function timesOf(run: () => Promise<void>): Promise<readonly number[]> {
  for (let n = 0; n < 6; n++) await run()
  const times: number[] = []
  for (let n = 0; n < TIMES; n++) {
    const started = performance.now()
    await run()
    times.push(performance.now() - started)
  }
  return times.toSorted((a, b) => a - b)
}

function shown(sorted: readonly number[], share: number): readonly string[] {
  const time = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
  return [time.toFixed(1), (time / LIMIT_MS).toFixed(2)]
}

async function count(baseUrl: string, { apiKey }: Tenant, query: string): Promise<void> {
  const since = new Date(Date.now() - 364 * 86_400_000).toISOString()
  const url = `${baseUrl}/v3/rest/insights/counts?${query}&since=${since}`
  const response = await fetch(url, { headers: { 'x-service-api-key': apiKey } })
  if (response.status !== 200) throw new Error(await response.text())
  await response.arrayBuffer()
}
