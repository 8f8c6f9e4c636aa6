/** A search that asks the newest weeks first finds the same as one that reads every match. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createSource } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let key: Client
let sourceId: number

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  key = server.as({ apiKey: tenant.apiKey })
  sourceId = await createSource(key)
  // More than 1,000 within a week, within some weeks, within all of them only, and nowhere near now.
  await load('minutely', 1_500, '1 minute')
  await load('hourly', 3_000, '2 hours')
  await load('daily', 1_200, '1 day')
  await load('ancient', 1_100, '1 hour', '3 years')
}, 300_000)
afterAll(() => server?.stop())

async function load(word: string, amount: number, apart: string, ago = '0 days'): Promise<void> {
  const { organizationId } = tenant
  const text = `The ${word} report`
  await server.database.sql`
    with record as (
      insert into feedback_record (organization_id, feedback_source_id, display_ts, fields)
      select ${organizationId}, ${sourceId}, now() - ${ago}::interval - n * ${apart}::interval,
        jsonb_build_array(jsonb_build_object('category', 'content', 'type', 'string', 'name', 'comment', 'value', ${text}::text))
      from generate_series(1, ${amount}::int) n
      returning id, display_ts
    )
    insert into search_passage (organization_id, feedback_record_id, place, is_customer, occurred_at, configuration, document)
    select ${organizationId}, id, 0, true, display_ts, 'english', search_document(${organizationId}, 'english', ${text}) from record`
  await server.database.sql`
    insert into search_configuration (organization_id, configuration) values (${organizationId}, 'english')
    on conflict do nothing`
}

async function everyPage(query: string): Promise<{ ids: number[]; hasMore: boolean }> {
  const ids: number[] = []
  let hasMore = false
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await key.get(
      `/v3/rest/search?limit=20&${query}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    expect({ status, body: status === 200 ? null : body }).toEqual({ status: 200, body: null })
    ids.push(...body.data.map(({ id }: { id: string | number }) => Number(id)))
    hasMore = body.has_more_matches
    cursor = body.next_cursor
  }
  return { ids, hasMore }
}

test.each([
  ['minutely', '', true],
  ['hourly', '', true],
  ['daily', '', true],
  ['ancient', '', true],
  ['hourly', '&since=SINCE', false],
  ['hourly', '&until=UNTIL', true],
] as const)(
  '%s%s: the newest 1,000, newest first',
  async (word, filter, hasMore) => {
    const { sql } = server.database
    const day = 86_400_000
    const [since, until] = [new Date(Date.now() - 10 * day), new Date(Date.now() - 60 * day)]
    const found = await everyPage(
      `q=${word}${filter.replace('SINCE', since.toISOString()).replace('UNTIL', until.toISOString())}`,
    )
    const rows = await sql<{ id: number }[]>`
    select id from feedback_record
    where fields -> 0 ->> 'value' = ${`The ${word} report`}
      and (${filter !== '&since=SINCE'} or display_ts >= ${since}) and (${filter !== '&until=UNTIL'} or display_ts < ${until})
    order by display_ts desc, id desc
    limit 1000`
    expect(found.ids).toEqual(rows.map(({ id }) => id))
    expect(found.hasMore).toBe(hasMore)
  },
  30_000,
)
