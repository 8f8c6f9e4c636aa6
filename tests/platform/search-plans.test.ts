/**
 * A search reads the index of words, and nothing of another organization that has many passages with the same words: whole, as beginnings
 * and as phrases. And existing data becomes searchable in the background.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { recordingNamesChange } from '../../src/calls/recordings/names.ts'
import { transcriptWordsChange } from '../../src/calls/transcripts/backfill.ts'
import { runDataChange, unfinishedDataChanges } from '../../src/platform/db/data-change.ts'
import type { Tx } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { newId } from '../../src/platform/ids.ts'
import { createSearchChanges } from '../../src/understand/search/backfill.ts'
import { marked } from '../../src/understand/search/query.rules.ts'
import { prepareSearch, rankMatches, type Wanted } from '../../src/understand/search/search.store.ts'
import { FIRST_WEEKS, weekLabels } from '../../src/understand/search/weeks.rules.ts'
import { insertEvent, insertSession } from '../support/agents-http.ts'
import { createRecord, createSource, field } from '../support/feedback.ts'
import { prepare, type Reading, reading } from '../support/plans.ts'
import { createRecording, utterance } from '../support/recordings.ts'
import { searchOf } from '../support/search.ts'
import { startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const NEIGHBOURS_ROWS = 20_000
const OWN_ROWS = 3_000

let server: TestServer
let tenant: TestTenant
const applicationIds: string[] = []

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  await load(await server.createTenant(), NEIGHBOURS_ROWS, 'A common case of the export')
  await load(tenant, OWN_ROWS, 'Another matter of the import')
  await load(tenant, 3, 'A common case of the export')
  await server.database.sql`vacuum analyze search_passage`
}, 300_000)
afterAll(() => server?.stop())

/** A session with so many passages. */
async function load({ organizationId }: TestTenant, amount: number, text: string): Promise<void> {
  const { sql } = server.database
  const { applicationId } = await server.createApplication(organizationId, { agentKey: newId() })
  applicationIds.push(applicationId)
  const sessionId = await insertSession(sql, organizationId, applicationId)
  await sql`
    insert into search_passage (
      organization_id, application_id, session_id, external_event_id, is_customer, occurred_at, configuration, document
    )
    select ${organizationId}, ${applicationId}, ${sessionId}, 'e' || n, true, now(), 'english',
      search_document(${organizationId}, 'english', ${text})
    from generate_series(1, ${amount}::int) n`
  await sql`
    insert into search_configuration (organization_id, configuration) values (${organizationId}, 'english')
    on conflict do nothing`
}

/** What a search reads, in its own transaction with its own settings. */
async function readingOf(query: string, weeks: readonly string[] | null = null): Promise<Reading> {
  const { organizationId } = tenant
  const conditions = (tx: Tx): Wanted => ({
    organizationId,
    query: marked(query, organizationId),
    exact: null,
    units: null,
    channel: undefined,
    since: undefined,
    until: undefined,
    personId: undefined,
    isOfAgent: false,
    applications: tx`select id from agent_application where organization_id = ${organizationId}`,
    visible: server.features.folders.visibleRecording(tx, { kind: 'organization', organizationId }),
  })
  return transaction(server.database.sql, async (tx) => {
    await prepareSearch(tx, 5_000)
    const window = {
      weeks,
      examined: 4_000,
      ranked: 1_000,
      now: new Date().toISOString(),
      after: null,
      limit: 20,
    }
    const sent = rankMatches(tx, conditions(tx), window)
    await sent
    const { string, parameters } = sent as unknown as { string: string; parameters: { value: unknown }[] }
    const statement = {
      text: string,
      parameters: parameters.map((one) => ('value' in Object(one) ? one.value : one)),
    }
    const name = `plan_${Bun.hash(query + weeks)}`
    await prepare(tx as never, name, statement)
    return reading(tx as never, name, statement)
  })
}

describe.each([["'common'"], ["'commo':*"], ["'common' <-> 'case'"], ["'export' & !'import'"]])(
  'a search for %s',
  (query) => {
    test('reads the index of words, and no row of a neighbour', async () => {
      const { rows, pages, scanned, steps } = await readingOf(query)
      expect(scanned).toEqual([])
      // Only the index of words gives a bitmap of passages.
      expect(steps).toContain('Bitmap Heap Scan search_passage: 3')
      expect(rows).toBeLessThan(60)
      expect(pages).toBeLessThan(150)
    }, 300_000)
  },
)

test('a search for a common word reads its newest weeks only', async () => {
  const { sql } = server.database
  const { organizationId } = tenant
  const [passage] = await sql<{ sessionId: string }[]>`
    select session_id as "sessionId" from search_passage where organization_id = ${organizationId} limit 1`
  await sql`
    insert into search_passage (
      organization_id, application_id, session_id, external_event_id, is_customer, occurred_at, configuration, document
    )
    select ${organizationId}, ${applicationIds[1] as string}, ${passage?.sessionId as string}, 'w' || n, true,
      now() - n * interval '1 hour', 'english', search_document(${organizationId}, 'english', 'a frequent word')
    from generate_series(1, 8000) n`
  await sql`vacuum analyze search_passage`
  const labels = weekLabels(organizationId, new Date(), FIRST_WEEKS)
  const { rows, pages, scanned } = await readingOf("'frequent'", labels)
  expect(scanned).toEqual([])
  expect(rows).toBeWithin(150, 4_000)
  expect(pages).toBeLessThan(1_500)
  const all = await readingOf("'frequent'")
  expect(all.rows).toBeGreaterThan(8_000)
})

test.each([
  "it's O'Neil 'quoted' a''b",
  "http://a.b/c?d='e' x",
  '',
  'the of',
  "\\ back\\slash 'x' - 'y",
  "' ' '' a ' b",
  "e-mail foo@bar.com /usr/local/x 1.5e-3 <b>'z'</b> ünïcode’s",
])('each word of %j has the mark of the organization', async (text) => {
  const { sql } = server.database
  const id = tenant.organizationId
  for (const configuration of ['english', 'simple']) {
    const [row] = await sql<{ words: string[]; plain: string[] }[]>`
      select tsvector_to_array(search_document(${id}, ${configuration}::text::regconfig, ${text})) as words,
        tsvector_to_array(to_tsvector(${configuration}::text::regconfig, ${text})) as plain`
    expect(row?.words.toSorted()).toEqual(
      (row?.plain ?? []).map((word) => `${id.slice(-6)}${word}`).toSorted(),
    )
    expect(row?.words.length).toBe(row?.plain.length ?? -1)
  }
})

describe('the background change', () => {
  test('lets a conversation be changed while the text process works, and does not write what was changed', async () => {
    const { sql } = server.database
    const sessionId = await insertSession(sql, tenant.organizationId, applicationIds[1] as string)
    for (const [sequence, content] of ['A zeppelin over the lake.', 'A dirigible over the hill.'].entries())
      await insertEvent(sql, tenant.organizationId, sessionId, sequence + 1, { body: sql.json({ content }) })
    const [change] = createSearchChanges({
      async run(job, input, signal, organization) {
        await sql.begin(async (tx) => {
          await tx`set local lock_timeout = '1s'`
          await tx`select from agent_session where id = ${sessionId} for update`
          await tx`
            update agent_event set body = ${tx.json({ content: 'A balloon.' })}
            where session_id = ${sessionId} and sequence = 1`
        })
        return server.deps.textWork.run(job, input, signal, organization)
      },
    })
    const write = await change!.compute(sql, [sessionId])
    await transaction(sql, (tx) => write(tx, [sessionId]))
    const rows = await sql<{ words: string }[]>`
      select document::text as words from search_passage where session_id = ${sessionId}`
    expect(rows.map(({ words }) => /zeppelin|balloon|dirig/.exec(words)?.[0])).toEqual(['dirig'])
  })

  test('indexes what was stored before, once, with progress', async () => {
    const { sql } = server.database
    const key = server.as({ apiKey: tenant.apiKey })
    const content = 'Our hovercraft is full of eels since the last update.'
    const sessionId = await insertSession(sql, tenant.organizationId, applicationIds[1] as string)
    await insertEvent(sql, tenant.organizationId, sessionId, 1, { body: sql.json({ content }) })
    await insertEvent(sql, tenant.organizationId, sessionId, 2, { final: false, body: sql.json({ content }) })
    await createRecord(key, await createSource(key), { fields: [field({ value: content })] })
    await createRecording(key, { transcript: [utterance(0, 1, 0, content)] })
    expect((await searchOf(key, 'eel')).matches).toBe(0)
    const options = { runner: newId(), stopping: new AbortController().signal, pauseRatio: 0 }
    for (const change of createSearchChanges(server.deps.textWork)) {
      expect(await runDataChange(sql, change, options)).toBe('finished')
      expect(await runDataChange(sql, change, options)).toBe('finished')
    }
    const { data } = await searchOf(key, 'eel')
    expect(data.map(({ channel }) => channel).toSorted()).toEqual(['conversation', 'feedback', 'recording'])
    expect(data[0]?.passage).toContain('<mark>eels</mark>')
    expect(await sql`select 1 from search_passage where session_id = ${sessionId}`).toHaveLength(1)
    const list = async (q: string) => (await key.get(`/v3/rest/recordings?q=${q}`)).body.data.length
    const call = await createRecording(key, { displayName: 'Zoë', transcript: [utterance(0, 1, 0, 'x')] })
    await sql`update recording set name_words = null where id = ${call.id}`
    await sql`
      insert into transcript_search (organization_id, recording_id, part, document)
      select ${tenant.organizationId}, ${call.id}, 7, to_tsvector('simple', 'former')
      where not exists (select 1 from transcript_search where recording_id = ${call.id} and part = 7)`
    expect([await list('zoe'), await list('zoë'), await list('former')]).toEqual([0, 1, 1])
    for (const change of [recordingNamesChange, transcriptWordsChange])
      expect(await runDataChange(sql, change, options)).toBe('finished')
    expect([await list('zoe'), await list('former'), await list('x')]).toEqual([1, 0, 1])
    expect(await unfinishedDataChanges(sql)).toEqual([])
    const [done] = await sql`select rows_done from data_change where name = 'search_meaning_of_feedback'`
    expect(done).toMatchObject({ rows_done: 1 })
  }, 300_000)
})
