/**
 * One page of the list of recordings over HTTP, with 1,000 and with 1,000,000 recordings: the cost of a page must grow neither with
 * the number of recordings nor with depth.
 *
 * Each case has its own database and service. A third of the recordings has no folder, a third a shared one, and a third a private
 * one of another user, which neither caller sees. Compared pages are requested alternately.
 */

import { MIGRATIONS } from '../sql/migrations.ts'
import { loadConfig } from '../src/app/config.ts'
import { createContainer } from '../src/app/container.ts'
import { createFeatures } from '../src/app/features.ts'
import { keyset } from '../src/http/paging.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect, type Sql } from '../src/platform/db/pool.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { table } from './support/measure.ts'

const FEW = 1_000
const MANY = 1_000_000
const LIMIT = 10
/** Pages before the deep page. */
const DEPTH = 10_000
const REQUESTS = 400
const WARM_UP = 40

interface Tenant {
  readonly organizationId: string
  readonly apiKey: string
  readonly userToken: string
}

/** Creates organization, user and folders through the service, and recordings by one statement per table. */
async function fill(environment: Environment, dataDir: string, count: number): Promise<Tenant> {
  const config = loadConfig({ DATABASE_URL: environment.databaseUrl, LOG_LEVEL: 'silent', DATA_DIR: dataDir })
  const container = createContainer(
    config,
    { database: { url: environment.databaseUrl }, redis: null },
    'bench',
  )
  try {
    const { identity, folders, metadata } = createFeatures(container)
    const { id: organizationId } = await identity.createOrganization('bench')
    const { apiKey } = await identity.createApiKey(organizationId, 'bench')
    const user = async (name: string) =>
      (await identity.createUser(organizationId, { email: `${name}@example.com`, name })).id
    const [reader, other] = [await user('reader'), await user('other')]
    const shared = await folders.create({ kind: 'organization', organizationId }, { name: 'shared' })
    const hidden = await folders.create(
      { kind: 'user', organizationId, userId: other },
      { name: 'private', shared: false },
    )
    const [canonical] = await metadata.listSources(organizationId, { page: 1, limit: 1 })
    const sourceId = canonical?.id ?? ''
    await insertRecordings(
      environment.sql,
      { organizationId, sourceId, shared: shared.id, hidden: hidden.id },
      count,
    )
    return { organizationId, apiKey, userToken: await identity.createUserToken(reader, 3600) }
  } finally {
    await container.close()
  }
}

interface Owners {
  readonly organizationId: string
  readonly sourceId: string
  readonly shared: string
  readonly hidden: string
}

/** One per second until now, with UUIDv7 ids. */
async function insertRecordings(sql: Sql, owners: Owners, count: number): Promise<void> {
  await sql`
    insert into recording (id, organization_id, display_name, source, started_at, created_at, transcript_status, summary)
    select
      (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
      ${owners.organizationId}, 'Recording ' || n, 'api', at, at, 'completed', repeat('What was said. ', 10)
    from generate_series(1, ${count}::int) as n, lateral (select now() - (${count}::int - n) * interval '1 second' as at) as t`
  await sql`
    insert into metadata_record (id, organization_id, source_id, recording_id, external_id)
    select gen_random_uuid(), organization_id, ${owners.sourceId}, id, id::text from recording`
  await sql`
    insert into recording_folder (organization_id, recording_id, folder_id)
    select organization_id, id, case nth % 3 when 1 then ${owners.shared}::uuid else ${owners.hidden}::uuid end
    from (select *, row_number() over (order by created_at) as nth from recording) as numbered
    where nth % 3 > 0`
  await sql`vacuum analyze`
}

/** The cursor after the last row of page `DEPTH` of the recordings that both callers see. */
async function deepCursor(sql: Sql, { organizationId }: Tenant): Promise<string> {
  const [row] = await sql<{ microseconds: number; id: string }[]>`
    select (extract(epoch from r.created_at) * 1000000)::bigint as microseconds, r.id
    from recording r
    where r.organization_id = ${organizationId}
      and not exists (
        select 1 from recording_folder rf join folder f on f.id = rf.folder_id
        where rf.recording_id = r.id and f.owner_user_id is not null
      )
    order by r.created_at desc, r.id desc
    offset ${DEPTH * LIMIT - 1}
    limit 1`
  if (row === undefined) throw new Error('there are not that many pages')
  return keyset('recordings', ['integer', 'uuid']).encode([row.microseconds, row.id])
}

interface Reading {
  readonly name: string
  readonly url: string
  readonly headers: Record<string, string>
}

/** Median milliseconds of one request, by kind of page. */
async function medians(readings: readonly Reading[]): Promise<ReadonlyMap<Reading, number>> {
  const taken = new Map<Reading, number[]>(readings.map((reading) => [reading, []]))
  for (let round = 0; round < WARM_UP + REQUESTS; round++) {
    for (const reading of readings) {
      const start = performance.now()
      const response = await fetch(reading.url, { headers: reading.headers })
      const { data } = (await response.json()) as { data: unknown[] }
      if (data.length !== LIMIT) throw new Error(`${reading.name}: ${data.length} recordings`)
      if (round >= WARM_UP) taken.get(reading)?.push(performance.now() - start)
    }
  }
  return new Map(
    [...taken].map(([reading, times]) => [
      reading,
      times.toSorted((a, b) => a - b)[REQUESTS / 2] ?? Number.NaN,
    ]),
  )
}

/** A separate database on the server of `environment`. */
async function besides(environment: Environment, name: string): Promise<Environment> {
  await environment.sql.unsafe(`create database ${name}`)
  const url = new URL(environment.databaseUrl)
  url.pathname = `/${name}`
  const sql = connect({ url: url.href }, { max: 2, applicationName: 'bench' })
  await migrate(sql, MIGRATIONS)
  return { ...environment, databaseUrl: url.href, sql, [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }) }
}

/** Measures both callers on both databases and prints one table. */
export async function benchRecordingsList(): Promise<void> {
  await using large = await openEnvironment(2)
  await using small = await besides(large, 'few_recordings')
  // User tokens are signed with the key in the data folder, which the services share.
  const dataDir = `${process.env.TMPDIR ?? '/tmp'}/earshot-bench-${process.pid}`
  const few = await fill(small, dataDir, FEW)
  const many = await fill(large, dataDir, MANY)
  const cursor = await deepCursor(large.sql, many)
  await using fewService = await startService(small, { DATA_DIR: dataDir })
  await using manyService = await startService(large, { DATA_DIR: dataDir })
  const rows: string[][] = []
  for (const caller of ['organization key', 'user'] as const) {
    const headersOf = ({ apiKey, userToken }: Tenant): Record<string, string> =>
      caller === 'user' ? { authorization: `Bearer ${userToken}` } : { 'x-service-api-key': apiKey }
    const page = (name: string, baseUrl: string, tenant: Tenant, query = ''): Reading => ({
      name,
      url: `${baseUrl}/v3/rest/recordings?limit=${LIMIT}${query}`,
      headers: headersOf(tenant),
    })
    const reference = page(`${FEW}, first page`, fewService.baseUrl, few)
    const result = await medians([
      reference,
      page(`${MANY}, first page`, manyService.baseUrl, many),
      page(`${MANY}, page ${DEPTH + 1} by cursor`, manyService.baseUrl, many, `&cursor=${cursor}`),
    ])
    for (const [{ name }, milliseconds] of result)
      rows.push([
        `${caller}: ${name}`,
        milliseconds.toFixed(2),
        (milliseconds / (result.get(reference) ?? Number.NaN)).toFixed(2),
      ])
  }
  console.log(`List of recordings, ${LIMIT} a page, median of ${REQUESTS} requests one after the other\n`)
  console.log(table(['recordings', 'milliseconds', `ratio to ${FEW}`], rows))
}
