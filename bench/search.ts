/**
 * Search over HTTP among 10⁶ passages, with rules of access: half of the recordings are in private folders. A neighbour has a tenth as many passages with the same words.
 * Each passage has the vector of one of the sentences below, so that "other words", which no passage has, are found by meaning.
 *
 * Compared in the same run with the bare statement that reads the newest matches from the index without rank, access and marks, and with
 * `ilike` over the texts of messages.
 */

import { createTextWorkHere } from '../src/analysis/analyze/text-work.ts'
import { connect, type Sql } from '../src/platform/db/pool.ts'
import { meaningsOf } from '../src/understand/search/meaning.ts'
import { marked } from '../src/understand/search/query.rules.ts'
import { openEnvironment, startService } from './support/environment.ts'
import { createTenant, type Tenant } from './support/ingestion.ts'
import { table } from './support/measure.ts'

const PASSAGES = Number(process.env.BENCH_PASSAGES ?? 1_000_000)
/** Words of the generated language. The frequency of a word falls with its rank. */
const WORDS = 60_000
const WORDS_A_PASSAGE = 25
const MESSAGES_A_SESSION = 12
const PASSAGES_A_RECORDING = 20
const QUERIES = 60
/** `ilike` reads every text. */
const SLOW_QUERIES = 5

const LETTERS = 'baekilomun'
/** A word by its rank. */
const word = (rank: number) => `q${[...String(rank)].map((digit) => LETTERS[Number(digit)]).join('')}qx`
const between = (least: number, most: number) => word(Math.floor(least + Math.random() * (most - least)))

const SETS: Readonly<Record<string, () => string>> = {
  'rare word': () => between(5_000, 40_000),
  'middling word': () => between(500, 3_000),
  'word in 0.5 to 5 % of passages': () => between(10, 300),
  'two words': () => `${between(60, 300)} ${between(500, 3_000)}`,
  phrase: () => `"${between(100, 500)} ${between(100, 500)}"`,
  'a or b': () => `${between(500, 3_000)} or ${between(500, 3_000)}`,
  'beginning of a word': () => between(500, 3_000).slice(0, 5),
  'typing error': () => between(500, 3_000).replace('qx', 'xq'),
  'other words': () => `${anyOf(THINGS)} ${anyOf(OTHER_WORDS)}`,
}

const THINGS = [
  'invoice',
  'password',
  'export',
  'dashboard',
  'subscription',
  'delivery',
  'refund',
  'calendar',
  'report',
  'account',
]
const SENTENCES = THINGS.flatMap((thing) => [
  `The ${thing} does not work since yesterday`,
  `Where can I find my ${thing}?`,
  `Thank you, the ${thing} is great now`,
  `Please cancel the ${thing}`,
  `I was charged twice for the ${thing}`,
  `It would help to have the ${thing} in dark mode`,
])
const OTHER_WORDS = [
  'is broken again',
  'cannot be seen anywhere',
  'took money from my card',
  'should be stopped',
] as const
const anyOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T

/** Measures each kind of query and prints a table. */
export async function benchSearch(): Promise<void> {
  await using environment = await openEnvironment(2)
  const sql = connect(
    { url: environment.databaseUrl },
    { max: 1, applicationName: 'bench', statementTimeoutMs: null },
  )
  const [tenant, neighbour] = [await createTenant(environment), await createTenant(environment)]
  const started = performance.now()
  await load(sql, tenant, PASSAGES)
  await load(sql, neighbour, PASSAGES / 10)
  await sql`vacuum analyze`
  console.log(`loaded in ${((performance.now() - started) / 1_000).toFixed(0)} s`)
  const [size] = await sql`
    select pg_size_pretty(pg_table_size('search_passage')) as table, pg_size_pretty(pg_relation_size('search_passage_words_by_week')) as words`
  await using service = await startService(environment, { ROLE: 'api' })
  const rows: string[][] = []
  const all: number[] = []
  for (const [name, queryOf] of Object.entries(SETS)) {
    const queries = Array.from({ length: QUERIES }, queryOf)
    const http = await timesOf(queries, (query) => searchOverHttp(service.baseUrl, tenant, query))
    const bare = await timesOf(queries, (query) => bareSearch(sql, tenant, query))
    const slow = await timesOf(queries.slice(0, SLOW_QUERIES), (query) => ilike(sql, tenant, query))
    all.push(...http)
    rows.push([name, at(http, 0.5), at(http, 0.99), at(bare, 0.5), at(bare, 0.99), at(slow, 0.5)])
  }
  rows.push(['all', at(all, 0.5), at(all, 0.99), '', '', ''])
  // The last set.
  const byWord = all.slice(0, -QUERIES)
  rows.push(['all but other words', at(byWord, 0.5), at(byWord, 0.99), '', '', ''])
  console.log(`\nSearch among ${PASSAGES} passages, one caller, ms; ${JSON.stringify(size)}\n`)
  console.log(table(['query', 'p50', 'p99', 'index only p50', 'p99', 'ilike p50'], rows))
  await sql.end({ timeout: 5 })
}

async function timesOf(queries: readonly string[], run: (query: string) => Promise<unknown>) {
  const times: number[] = []
  for (const query of queries) {
    const started = performance.now()
    await run(query)
    times.push(performance.now() - started)
  }
  return times
}

function at(times: readonly number[], share: number): string {
  const sorted = times.toSorted((a, b) => a - b)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1)
}

async function searchOverHttp(baseUrl: string, { apiKey }: Tenant, query: string): Promise<void> {
  const url = `${baseUrl}/v3/rest/search?q=${encodeURIComponent(query)}&limit=20`
  const response = await fetch(url, { headers: { 'x-service-api-key': apiKey } })
  if (response.status !== 200) throw new Error(await response.text())
  await response.arrayBuffer()
}

/** The newest matches of the index, and nothing else. */
async function bareSearch(sql: Sql, { organizationId }: Tenant, query: string): Promise<void> {
  const [parsed] = await sql<
    { query: string }[]
  >`select websearch_to_tsquery('english', ${query})::text as query`
  await sql`
    select id
    from search_passage
    where document @@ ${marked(parsed?.query ?? '', organizationId)}::text::tsquery
    order by occurred_at desc, id desc
    limit 20`
}

const ilike = (sql: Sql, { organizationId }: Tenant, query: string) => sql`
  select external_event_id
  from agent_event
  where organization_id = ${organizationId} and body ->> 'content' ilike ${`%${query.replaceAll('"', '')}%`}
  order by occurred_at desc
  limit 20`

/** Eight of ten passages are messages, one a field of feedback, and one speech. */
async function load(sql: Sql, { organizationId, applicationId }: Tenant, amount: number): Promise<void> {
  const [words] = await sql<{ definition: string }[]>`
    select pg_get_indexdef('search_passage_words_by_week'::regclass) as definition`
  await sql`drop index search_passage_words_by_week`
  await sql`drop table if exists bench_text`
  await sql`create unlogged table bench_text (n int, text text, at timestamptz)`
  await sql`
    insert into bench_text
    select n, (
        select string_agg('q' || translate((floor(power(random(), 3) * ${WORDS}::int)::int + 0 * i)::text, '0123456789', ${LETTERS}) || 'qx', ' ')
        from generate_series(1, ${WORDS_A_PASSAGE}::int + n % 2) i
      ),
      now() - random() * interval '365 days'
    from generate_series(1, ${amount}::int) n`
  await sql`
    create unlogged table bench_subject as
    select n, gen_random_uuid() as id from generate_series(0, ${amount / 10}::int) n`
  await sql`
    insert into agent_session (id, organization_id, application_id, external_session_id, status, processing_status, created_at)
    select id, ${organizationId}, ${applicationId}, 'chat-' || n, 'ended', 'completed', now()
    from bench_subject where n <= ${Math.ceil((amount * 0.8) / MESSAGES_A_SESSION)}::int`
  await sql`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body, fingerprint, settings_version
    )
    select ${organizationId}, s.id, 'e' || t.n, t.n, 1, 'user_message', true, t.at, jsonb_build_object('content', t.text), decode('07', 'hex'), 1
    from bench_text t join bench_subject s on s.n = t.n / ${MESSAGES_A_SESSION}::int
    where t.n <= ${amount * 0.8}::int`
  await sql`
    insert into search_passage (
      organization_id, application_id, session_id, external_event_id, is_customer, occurred_at, configuration, document
    )
    select ${organizationId}, ${applicationId}, s.id, 'e' || t.n, true, t.at, 'english', search_document(${organizationId}, 'english', t.text)
    from bench_text t join bench_subject s on s.n = t.n / ${MESSAGES_A_SESSION}::int
    where t.n <= ${amount * 0.8}::int`
  await loadFeedback(sql, organizationId, amount)
  await loadRecordings(sql, organizationId, amount)
  await sql`
    insert into search_configuration (organization_id, configuration) values (${organizationId}, 'english'), (${organizationId}, 'simple')
    on conflict do nothing`
  await loadVectors(sql, organizationId)
  await sql.unsafe(words?.definition ?? '')
  await sql`drop table bench_text, bench_subject`
}

async function loadVectors(sql: Sql, organizationId: string): Promise<void> {
  const meanings = [
    ...(await meaningsOf(createTextWorkHere(), SENTENCES, new AbortController().signal)).values(),
  ]
  await sql`
    insert into search_vector (passage_id, organization_id, cell, vector)
    select p.id, p.organization_id, m.cell, decode(m.vector, 'base64')
    from search_passage p
    join unnest(${meanings.map(({ cell }) => cell)}::smallint[], ${meanings.map(({ vector }) => vector)}::text[])
      with ordinality as m (cell, vector, n) on m.n = 1 + p.id % ${meanings.length}::int
    where p.organization_id = ${organizationId}`
}

async function loadFeedback(sql: Sql, organizationId: string, amount: number): Promise<void> {
  const [source] = await sql`
    insert into feedback_source (organization_id, name, type) values (${organizationId}, 'bench', 'api') returning id`
  await sql`
    with record as (
      insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
      select ${organizationId}, ${source?.id}::bigint, at, jsonb_build_array(jsonb_build_object(
        'category', 'content', 'type', 'string', 'name', 'comment', 'value', text
      ))
      from bench_text where n > ${amount * 0.8}::int and n <= ${amount * 0.9}::int
      returning id, display_ts, fields
    )
    insert into search_passage (
      organization_id, feedback_record_id, place, is_customer, occurred_at, configuration, document
    )
    select ${organizationId}, id, 0, true, display_ts, 'english', search_document(${organizationId}, 'english', fields -> 0 ->> 'value')
    from record`
}

/** Every second recording is in a private folder of another user. */
async function loadRecordings(sql: Sql, organizationId: string, amount: number): Promise<void> {
  const [folder] = await sql`
    with owner as (
      insert into app_user (id, email, name) values (gen_random_uuid(), gen_random_uuid() || '@example.com', 'bench') returning id
    )
    insert into folder (id, organization_id, owner_user_id, name)
    select gen_random_uuid(), ${organizationId}, id, 'private' from owner returning id`
  await sql`
    create unlogged table bench_recording as
    select n, gen_random_uuid() as id from generate_series(0, ${Math.ceil(amount / 10 / PASSAGES_A_RECORDING)}::int) n`
  await sql`
    insert into recording (id, organization_id, display_name, source, transcript_status, created_at)
    select id, ${organizationId}, 'Call ' || n, 'api', 'completed', now() from bench_recording`
  await sql`
    insert into recording_folder (organization_id, recording_id, folder_id)
    select ${organizationId}, id, ${folder?.id} from bench_recording where n % 2 = 0`
  await sql`
    insert into transcript_utterance (organization_id, recording_id, ordinal, start_sec, end_sec, speaker, text)
    select ${organizationId}, r.id, t.n % ${PASSAGES_A_RECORDING}::int, 60 * (t.n % ${PASSAGES_A_RECORDING}::int), 60 * (t.n % ${PASSAGES_A_RECORDING}::int) + 50, 0, t.text
    from bench_text t join bench_recording r on r.n = (t.n - ${amount * 0.9}::int - 1) / ${PASSAGES_A_RECORDING}::int
    where t.n > ${amount * 0.9}::int`
  await sql`
    insert into search_passage (
      organization_id, recording_id, place, last_place, start_sec, is_customer, occurred_at, configuration, document
    )
    select u.organization_id, u.recording_id, u.ordinal, u.ordinal, u.start_sec, false, t.at, 'english',
      search_document(u.organization_id, 'english', u.text)
    from bench_text t
    join bench_recording r on r.n = (t.n - ${amount * 0.9}::int - 1) / ${PASSAGES_A_RECORDING}::int
    join transcript_utterance u on u.recording_id = r.id and u.ordinal = t.n % ${PASSAGES_A_RECORDING}::int
    where t.n > ${amount * 0.9}::int`
  await sql`drop table bench_recording`
}

if (import.meta.main) {
  await benchSearch()
  process.exit(0)
}
