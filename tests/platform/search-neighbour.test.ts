/**
 * A search reads nothing of another organization that has many recordings with the same words. Rows and pages are counted, for
 * words in names and in transcripts, whole, as beginnings and as phrases.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { nameWords } from '../../src/platform/text/words.rules.ts'
import { noting, prepare, reading, type Statement } from '../support/plans.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

const NEIGHBOURS_ROWS = 5_000
/** Matching rows of the caller's organization, its folders and metadata, and the page. */
const MOST_ROWS = 60
const MOST_PAGES = 300

/** Contains quotation marks and an address, which the index treats as words, too. */
const COMMON_TEXT = "It's a common case, see example.com/a?b='c'"

const RECORDINGS = '/v3/rest/recordings'

let server: TestServer
let planner: Sql
let client: Client
const noted: (() => Statement | null)[] = []

beforeAll(async () => {
  server = await startTestServer({ reads: (reads) => noting(reads, (statement) => noted.push(statement)) })
  planner = connect({ url: server.database.url }, { max: 1, applicationName: 'planner', readOnly: true })
  const [tenant, neighbour] = [await server.createTenant(), await server.createTenant()]
  client = server.as(tenant)
  await load(neighbour.organizationId, NEIGHBOURS_ROWS, 'common', COMMON_TEXT)
  await load(tenant.organizationId, NEIGHBOURS_ROWS, 'other', 'Another matter')
  await load(tenant.organizationId, 3, 'common', COMMON_TEXT)
  await server.database.sql`vacuum analyze`
}, 300_000)
afterAll(async () => {
  await planner?.end({ timeout: 5 })
  await server?.stop()
})

/** Recordings with the word in their name, and as many others with the text as transcript. */
async function load(organizationId: string, amount: number, word: string, text: string): Promise<void> {
  const { sql } = server.database
  await sql`
    with made as (
      insert into recording (id, organization_id, display_name, source, transcript_status)
      select gen_random_uuid(), ${organizationId}, case when n % 2 = 0 then 'The ' || ${word}::text || ' name ' || n end,
        'api', 'completed'
      from generate_series(1, ${amount}::int * 2) as n
      returning id, display_name
    )
    insert into transcript_search (organization_id, recording_id, part, document)
    select ${organizationId}, id, 0, to_tsvector('simple', ${nameWords(text)})
    from made
    where display_name is null`
}

describe.each([
  ['common', 6],
  ['commo', 6],
  ['"a common case"', 3],
  ['"the common name"', 3],
  ['"common the"', 0],
  ['common case', 3],
  ['"nobody" or "common"', 6],
  ['common -case', 3],
  ["example.com/a?b='c' common", 3],
])('a search for %s', (text, hits) => {
  test(`finds ${hits} and reads nothing of a neighbour`, async () => {
    noted.length = 0
    const { status, body } = await client.get(`${RECORDINGS}?q=${encodeURIComponent(text)}`)
    expect([status, body.data.length]).toEqual([200, hits])
    const statements = noted.flatMap((statement) => statement() ?? [])
    const readings = []
    for (const [index, statement] of statements.entries()) {
      const name = `q${Bun.hash(text)}_${index}`
      await prepare(planner, name, statement)
      readings.push(await reading(planner, name, statement))
    }
    expect(readings.filter(({ rows, pages }) => rows > MOST_ROWS || pages > MOST_PAGES)).toEqual([])
  }, 300_000)
})
