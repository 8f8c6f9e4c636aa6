/**
 * The cost of an event and of a claim as the data grows. Flat means within 20 %.
 *
 * Events are stored over HTTP into databases that hold few and many events. Actors are claimed, read and released
 * by the statements of the runtime among few and many others. Pairs alternate, round after round.
 */
import { MIGRATIONS } from '../sql/migrations.ts'
import { claim } from '../src/actors/claim-statements.ts'
import { readMailboxes } from '../src/actors/mailbox-reads.ts'
import { release } from '../src/actors/statements.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { connect, type Sql } from '../src/platform/db/pool.ts'
import { type Environment, openEnvironment, startService } from './support/environment.ts'
import { createTenant, overHttp, type Tenant } from './support/ingestion.ts'
import { type Contestant, compare, table } from './support/measure.ts'

const EVENTS = process.env.BENCH_FULL === '1' ? [10_000, 1_000_000, 10_000_000] : [10_000, 1_000_000]
const ACTORS = [1_000, 1_000_000]
const EVENTS_A_SESSION = 20
const ROUNDS = 5
const SIZE = 50
const EVENTS_A_ROUND = 20_000
const CLAIMS_A_ROUND = 300
const KEYS_A_CLAIM = 32

/** Measures both and prints two tables. */
export async function benchScale(): Promise<void> {
  await using environment = await openEnvironment(4)
  await printEvents(environment)
  await printClaims(environment)
}

/** A separate database on the same server. */
async function createDatabase(environment: Environment, name: string): Promise<Environment> {
  await environment.sql.unsafe(`create database ${name}`)
  const url = new URL(environment.databaseUrl)
  url.pathname = `/${name}`
  // Storing ten million events takes minutes.
  const sql = connect({ url: url.href }, { max: 4, applicationName: 'bench', statementTimeoutMs: null })
  await migrate(sql, MIGRATIONS)
  return {
    databaseUrl: url.href,
    redisUrl: environment.redisUrl,
    sql,
    [Symbol.asyncDispose]: () => sql.end({ timeout: 5 }),
  }
}

async function printEvents(environment: Environment): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const contestants: Contestant[] = []
  for (const count of EVENTS) {
    const database = stack.use(await createDatabase(environment, `events_${count}`))
    const tenant = await createTenant(database)
    await storeEvents(database.sql, tenant, count)
    const service = stack.use(await startService(database, { ROLE: 'api' }))
    contestants.push({ ...overHttp(service.baseUrl, tenant, SIZE), name: String(count) })
  }
  const rates = await compare(contestants, EVENTS_A_ROUND, ROUNDS)
  const first = rates[0]?.median ?? Number.NaN
  const rows = rates.map(({ name, median }) => [
    name,
    (1_000_000 / median).toFixed(1),
    (first / median).toFixed(2),
  ])
  console.log(
    `\nOne event over HTTP, ${SIZE} a request, by events stored before (median of ${ROUNDS} rounds)\n`,
  )
  console.log(table(['events stored', 'µs an event', 'ratio'], rows))
}

/** Sessions of 20 events each, in the state after ingestion and processing. */
async function storeEvents(
  sql: Sql,
  { organizationId, applicationId }: Tenant,
  count: number,
): Promise<void> {
  await sql`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, watermark
    )
    select gen_random_uuid(), ${organizationId}, ${applicationId}, 'old-' || n, 'ended', 'completed', ${EVENTS_A_SESSION}
    from generate_series(1, ${count / EVENTS_A_SESSION}::int) as n`
  await sql`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body, fingerprint,
      settings_version
    )
    select
      s.organization_id, s.id, 'event-' || n, n, 1, 'user_message', true, now(),
      jsonb_build_object('content', repeat('What was said. ', 12)), decode(repeat('07', 32), 'hex'), 1
    from agent_session s
    cross join generate_series(1, ${EVENTS_A_SESSION}::int) as n`
  await sql`insert into actor_mailbox (key, last_seq) select 'session:' || id, 1 from agent_session`
  await sql`vacuum analyze`
}

async function printClaims(environment: Environment): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const contestants: Contestant[] = []
  for (const count of ACTORS) {
    const { sql } = stack.use(await createDatabase(environment, `actors_${count}`))
    await sql`insert into actor_mailbox (key) select 'session:' || n from generate_series(0, ${count - 1}::int) as n`
    await sql`vacuum analyze`
    contestants.push(claiming(sql, count))
  }
  const rates = await compare(contestants, CLAIMS_A_ROUND, ROUNDS)
  const first = rates[0]?.median ?? Number.NaN
  const rows = rates.map(({ name, median }) => [
    name,
    (1_000_000 / median / KEYS_A_CLAIM).toFixed(1),
    (first / median).toFixed(2),
  ])
  console.log(`\nClaim, look and release, ${KEYS_A_CLAIM} actors at a time (median of ${ROUNDS} rounds)\n`)
  console.log(table(['actors', 'µs an actor', 'ratio'], rows))
}

/** Repeatedly claims some actors from all over the table. */
function claiming(sql: Sql, actors: number): Contestant {
  let next = 0
  return {
    name: String(actors),
    async run(amount) {
      for (let round = 0; round < amount; round++) {
        const keys = Array.from({ length: KEYS_A_CLAIM }, (): `session:${string}` => {
          // A step coprime to both numbers of actors visits all of them.
          next = (next + 7_919) % actors
          return `session:${next}`
        })
        const held = await claim(sql, 'bench', keys)
        const mailboxes = await readMailboxes(sql, 'bench', held, 20)
        await release(
          sql,
          'bench',
          held.map((one) => ({ ...one, lastSeq: mailboxes.get(one.key)?.lastSeq ?? 0 })),
        )
      }
    },
  }
}
