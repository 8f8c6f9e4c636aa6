/** `GET /v3/rest/recordings`: shape, filters, and pages by number and by cursor. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import {
  createCanonicalField,
  createFolder,
  createRecording,
  RECORDINGS,
  utterance,
} from '../support/recordings.ts'
import { type Answer, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ actors: true })
})
afterAll(() => server?.stop())

const ids = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id)

/** An organization with `count` recordings, newest first. */
async function tenantWith(count: number) {
  const tenant = await createTenant(server)
  const made: string[] = []
  for (let index = 0; index < count; index++) made.unshift((await createRecording(tenant.key)).id)
  return { tenant, made, list: (query = '') => tenant.key.get(`${RECORDINGS}${query}`) }
}

describe('list', () => {
  test('of an organization without recordings is empty', async () => {
    const { list } = await tenantWith(0)
    const { status, body } = await list()
    expect([status, body]).toEqual([
      200,
      { data: [], limit: 10, has_more: false, next_cursor: null, page: 1 },
    ])
  })

  test('has exactly the specified members, in snake_case, without asset_uri', async () => {
    const { tenant, list } = await tenantWith(0)
    await createRecording(tenant.key)
    const [item] = (await list()).body.data
    expect(Object.keys(item)).toEqual([
      'id',
      'display_name',
      'source',
      'started_at',
      'completed_at',
      'asset_url',
      'asset_duration_seconds',
      'transcript_status',
      'analysis',
      'summary',
      'metadata',
    ])
  })

  test('is newest first by page number; has_more tells whether a next page exists', async () => {
    const { made, list } = await tenantWith(5)
    const pages = [await list('?limit=2'), await list('?limit=2&page=2'), await list('?limit=2&page=3')]
    expect(pages.flatMap(ids)).toEqual(made)
    expect(pages.map(({ body }) => [body.page, body.has_more])).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ])
    expect((await list('?limit=5')).body).toMatchObject({ has_more: false, next_cursor: null })
    expect((await list('?page=9007199254740')).body.data).toEqual([])
  })

  test('by cursor neither repeats nor skips a recording while others are created and deleted', async () => {
    const { tenant, made, list } = await tenantWith(7)
    const seen: string[] = []
    let cursor = ''
    for (;;) {
      const answer = await list(`?limit=2${cursor}`)
      seen.push(...ids(answer))
      if (!answer.body.has_more) break
      expect(answer.body.page).toBe(cursor === '' ? 1 : null)
      cursor = `&cursor=${answer.body.next_cursor}`
      await createRecording(tenant.key)
      await tenant.key.delete(`${RECORDINGS}/${seen[0]}`)
    }
    expect(seen).toEqual(made)
  })

  test('pages correctly through recordings of the same microsecond', async () => {
    const { tenant, made, list } = await tenantWith(4)
    await server.database.sql`
      update recording set created_at = '2026-01-02T03:04:05.123456Z' where organization_id = ${tenant.organizationId}`
    const first = await list('?limit=3')
    const second = await list(`?limit=3&cursor=${first.body.next_cursor}`)
    expect([...ids(first), ...ids(second)]).toEqual(made.toSorted().toReversed())
  })

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=101', 'limit'],
    ['?page=0', 'page'],
    ['?page=1.5', 'page'],
    ['?colour=red', 'colour'],
    ['?source=a&source=b', 'source'],
    ['?cursor=abc', 'cursor'],
    ['?transcript_status=done', 'transcript_status'],
    ['?asset_status=done', 'asset_status'],
    ['?started_after=2026-01-02', 'started_after'],
    ['?started_before=2026-02-30T00:00:00Z', 'started_before'],
    ['?folder_id=7', 'folder_id'],
    ['?q=', 'q'],
  ])('%s is 400', async (query, path) => {
    const { list } = await tenantWith(0)
    const { status, body } = await list(query)
    expect([status, body.details[0].path]).toEqual([400, path])
  })

  test('rejects page together with cursor: 400', async () => {
    const { list } = await tenantWith(2)
    const { next_cursor } = (await list('?limit=1')).body
    expect((await list(`?cursor=${next_cursor}&page=1`)).status).toBe(400)
    expect((await list(`?cursor=${next_cursor}`)).status).toBe(200)
  })

  test('includes metadata from the canonical and from other sources', async () => {
    const { tenant, list } = await tenantWith(0)
    const fieldId = await createCanonicalField(tenant.key, 'boolean')
    const values = [{ fieldId, value: true }]
    const { id } = await createRecording(tenant.key, { record: { externalId: 'a', values } })
    const { sql } = server.database
    const sourceId = newId()
    await sql`
      insert into metadata_source (id, organization_id, external_entity_name, type, managed_by)
      values (${sourceId}, ${tenant.organizationId}, 'deal', 'crm', 'integration')`
    await sql`
      insert into metadata_record (id, organization_id, source_id, recording_id, external_id)
      values (${newId()}, ${tenant.organizationId}, ${sourceId}, ${id}, 'deal-7')`
    const [{ metadata }] = (await list()).body.data
    expect(metadata).toMatchObject([
      { external_entity_name: 'recordings', external_id: 'a', values: [{ field_id: fieldId, value: true }] },
      { source_id: sourceId, type: 'crm', external_id: 'deal-7', values: [] },
    ])
    const { body } = await tenant.key.get(`${RECORDINGS}/${id}`)
    expect(body.record).toMatchObject({
      externalId: 'a',
      values: [{ fieldId, type: 'boolean', value: true }],
    })
    expect(body.metadata.map((record: { sourceId: string }) => record.sourceId)).toContain(sourceId)
  })

  test('lists a recording without a canonical record, with record null', async () => {
    const { tenant, made, list } = await tenantWith(1)
    await server.database.sql`delete from metadata_record where recording_id = ${made[0] as string}`
    expect((await list()).body.data).toMatchObject([{ id: made[0], metadata: [] }])
    expect((await tenant.key.get(`${RECORDINGS}/${made[0]}`)).body.record).toBeNull()
  })
})

describe('filters', () => {
  let tenant: Tenant
  let folderId: string
  const made: Record<string, string> = {}
  beforeAll(async () => {
    tenant = await createTenant(server)
    folderId = await createFolder(tenant.key)
    const create = async (name: string, body: object) => {
      made[name] = (await createRecording(tenant.key, { name, ...body })).id
    }
    await create('plain', {})
    await create('early', { startedAt: '2026-01-01T00:00:00Z', source: 'crm', record: { externalId: 'X-1' } })
    await create('late', { startedAt: '2026-01-01T00:00:00.000001Z', folderIds: [folderId] })
    await create('spoken', { transcript: [utterance(0, 1, 0, 'The import took a while')] })
    await create('media', { source: 'crm' })
    // As it is between two tries of a transfer; a real one would be tried by the actors of this server.
    await server.database.sql`update recording set asset_status = 'queued' where id = ${made.media as string}`
  })

  test.each([
    ['?external_id=X-1', ['early']],
    ['?external_id=x-1', []],
    ['?source=crm', ['media', 'early']],
    ['?source=CRM', []],
    ['?transcript_status=completed', ['spoken']],
    ['?asset_status=queued', ['media']],
    ['?asset_status=failed', []],
    ['?started_after=2026-01-01T00:00:00Z', ['late', 'early']],
    ['?started_before=2027-01-01T00:00:00Z&q=late&folder_id=FOLDER', ['late']],
    ['?started_after=2026-01-01T01:00:00.000001%2B01:00', ['late']],
    ['?started_before=2026-01-01T00:00:00.000001Z', ['early']],
    ['?since=2026-01-01T00:00:00Z&until=2026-01-01T00:00:00.000001Z', ['early']],
    ['?until=2026-02-01T00:00:00Z&source=crm', ['early']],
    // Without a start, the time of creation counts.
    ['?since=2026-02-01T00:00:00Z&source=crm', ['media']],
    ['?source=crm&asset_status=queued', ['media']],
    ['?source=crm&transcript_status=completed', []],
    ['?q=PLAIN', ['plain']],
    ['?q=nowhere', []],
  ])('%s', async (query, names) => {
    const answer = await tenant.key.get(`${RECORDINGS}${query.replace('FOLDER', folderId)}`)
    expect(answer.status).toBe(200)
    expect(ids(answer)).toEqual(names.map((name) => made[name] as string))
  })

  test('folder_id lists the folder; an invisible folder is 404 folder_not_found', async () => {
    expect(ids(await tenant.key.get(`${RECORDINGS}?folder_id=${folderId.toUpperCase()}`))).toEqual([
      made.late as string,
    ])
    const mine = await createFolder(tenant.user, false)
    for (const id of [newId(), mine]) {
      const { status, body } = await tenant.key.get(`${RECORDINGS}?folder_id=${id}`)
      expect([status, body.code]).toEqual([404, 'folder_not_found'])
    }
    expect(ids(await tenant.user.get(`${RECORDINGS}?folder_id=${mine}`))).toEqual([])
  })

  test('started_after sorts by start, latest first, on every page', async () => {
    const own = await createTenant(server)
    const begin = async (startedAt: string) => (await createRecording(own.key, { startedAt })).id
    const [last, first] = [await begin('9999-12-31T00:00:00Z'), await begin('0001-01-01T00:00:00Z')]
    await createRecording(own.key, {})
    const page = (cursor = '') =>
      own.key.get(`${RECORDINGS}?started_after=0001-01-01T00:00:00Z&limit=1${cursor}`)
    const one = await page()
    const two = await page(`&cursor=${one.body.next_cursor}`)
    expect([...ids(one), ...ids(two), two.body.has_more]).toEqual([last, first, false])
  })

  test('a period sorts by start, or by creation without one, latest first, on every page', async () => {
    const own = await createTenant(server)
    const folder = await createFolder(own.key)
    const begin = async (more: object) =>
      (await createRecording(own.key, { folderIds: [folder], ...more })).id
    const [last, first] = [
      await begin({ startedAt: '9999-12-31T00:00:00Z' }),
      await begin({ startedAt: '1971-01-01T00:00:00Z' }),
    ]
    const unknown = await begin({})
    const middle = await begin({ startedAt: '2000-01-01T00:00:00.000001Z' })
    const pagesOf = async (query: string) => {
      const seen: string[] = []
      let cursor = ''
      for (;;) {
        const { body } = await own.key.get(`${RECORDINGS}?${query}&limit=1${cursor}`)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        if (!body.has_more) return seen
        cursor = `&cursor=${body.next_cursor}`
      }
    }
    const all = [last, unknown, middle, first]
    expect(await pagesOf('since=1970-01-01T00:00:00Z')).toEqual(all)
    expect(await pagesOf(`since=1970-01-01T00:00:00Z&folder_id=${folder}`)).toEqual(all)
    expect(await pagesOf('until=9999-01-01T00:00:00Z')).toEqual([unknown, middle, first])
  })

  test('a folder is listed newest first on every page', async () => {
    const folder = await createFolder(tenant.key)
    const create = async () => (await createRecording(tenant.key, { folderIds: [folder] })).id
    const [oldest, middle, newest] = [await create(), await create(), await create()]
    const page = (more = '') => tenant.key.get(`${RECORDINGS}?folder_id=${folder}&limit=2${more}`)
    const one = await page()
    expect(ids(one)).toEqual([newest, middle])
    expect(ids(await page(`&cursor=${one.body.next_cursor}`))).toEqual([oldest])
    expect(ids(await page('&page=2'))).toEqual([oldest])
  })

  test('a filter applies to every page of a cursor', async () => {
    const first = await tenant.key.get(`${RECORDINGS}?source=crm&limit=1`)
    const second = await tenant.key.get(`${RECORDINGS}?source=crm&limit=1&cursor=${first.body.next_cursor}`)
    expect([...ids(first), ...ids(second)]).toEqual([made.media as string, made.early as string])
    expect(second.body.has_more).toBe(false)
  })
})
