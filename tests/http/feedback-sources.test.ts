/** Feedback sources: create, read, list. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRecord, createSource, field, recordsOf, SOURCES } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let key: Client

beforeAll(async () => {
  server = await startTestServer()
  key = server.as(await server.createTenant())
})
afterAll(() => server?.stop())

describe('POST feedback-sources', () => {
  test('201 with id, name, type, created_at and Location', async () => {
    const { status, body, headers } = await key.post(SOURCES, { name: 'Help desk', type: 'api' })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'Help desk',
      type: 'api',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    })
    expect(Number.isSafeInteger(body.id)).toBe(true)
    expect((await key.get(headers.get('location') as string)).body).toEqual(body)
  })

  test('the type defaults to api', async () => {
    expect((await key.post(SOURCES, { name: 'of no type' })).body.type).toBe('api')
  })

  test('409 name_exists carries the id of the existing source; another organization may use the same name', async () => {
    const id = await createSource(key, 'once')
    const answer = await key.post(SOURCES, { name: ' once ' })
    expect(answer).toMatchObject({ status: 409, body: { code: 'name_exists', id } })
    expect(await createSource(server.as(await server.createTenant()), 'once')).not.toBe(id)
  })

  test('exactly one of 32 concurrent requests gets 201; the others get 409 with its id', async () => {
    const answers = await Promise.all(Array.from({ length: 32 }, () => key.post(SOURCES, { name: 'rush' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(31).fill(409)])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  })

  test('duplicates from older versions can still be read, renamed and given records', async () => {
    const own = await server.createTenant()
    const client = server.as(own)
    const { sql } = server.database
    const rows = await sql<{ id: number }[]>`
      insert into feedback_source (organization_id, name, type)
      values (${own.organizationId}, 'old', 'api'), (${own.organizationId}, 'old', 'api')
      returning id`
    const [first, second] = rows.map(({ id }) => id)
    expect((await client.get(`${SOURCES}?name=old`)).body.data).toHaveLength(2)
    expect((await client.patch(`${SOURCES}/${second}`, { name: 'old' })).status).toBe(200)
    expect((await client.patch(`${SOURCES}/${second}`, { name: 'new' })).body.name).toBe('new')
    expect((await client.patch(`${SOURCES}/${second}`, { name: 'old' })).body.id).toBe(first)
  })

  test('the name is stored trimmed and may have 255 characters; an emoji counts as one', async () => {
    expect((await key.post(SOURCES, { name: '  a b \n' })).body.name).toBe('a b')
    const name = '😀'.repeat(255)
    expect((await key.post(SOURCES, { name })).body.name).toBe(name)
  })

  test('ignores unknown members', async () => {
    expect((await key.post(SOURCES, { name: 'colourful', colour: 'red' })).status).toBe(201)
  })

  test.each([
    ['no name', {}],
    ['a blank name', { name: '  ' }],
    ['256 characters', { name: 'x'.repeat(256) }],
    ['a name that is no string', { name: 7 }],
    ['a type of null', { name: 'x', type: null }],
    ['U+0000', { name: 'a\0b' }],
    ['no object', []],
  ])('400 for %s', async (_, body) => {
    const answer = await key.post(SOURCES, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
  })

  test('400 unsupported_source_type for another type', async () => {
    const answer = await key.post(SOURCES, { name: 'of another type', type: 'webhook' })
    expect([answer.status, answer.body.code]).toEqual([400, 'unsupported_source_type'])
  })

  test('400 malformed_json, 415 unsupported_media_type', async () => {
    expect((await key.post(SOURCES, '{"name":')).body.code).toBe('malformed_json')
    expect((await key.post(SOURCES, 'name=x', { 'content-type': 'text/plain' })).status).toBe(415)
  })
})

describe('PATCH and DELETE feedback-sources', () => {
  test('renames a source; its own name is accepted, the name of another source is 409', async () => {
    const [id, other] = [await createSource(key, 'before'), await createSource(key, 'other')]
    const { status, body } = await key.patch(`${SOURCES}/${id}`, { name: ' after ' })
    expect([status, body.name]).toEqual([200, 'after'])
    expect((await key.patch(`${SOURCES}/${id}`, { name: 'after' })).status).toBe(200)
    const taken = await key.patch(`${SOURCES}/${id}`, { name: 'other' })
    expect(taken).toMatchObject({ status: 409, body: { code: 'name_exists', id: other } })
    expect(await createSource(key, 'before')).not.toBe(id)
    for (const wrong of [{}, { name: ' ' }, { name: null }])
      expect((await key.patch(`${SOURCES}/${id}`, wrong)).body.code).toBe('validation_failed')
  })

  test('deletes a source without records and frees its name; a source with records is 409 not_empty', async () => {
    const id = await createSource(key, 'full')
    const record = await createRecord(key, id)
    const refused = await key.delete(`${SOURCES}/${id}`)
    expect([refused.status, refused.body.code]).toEqual([409, 'not_empty'])
    expect((await key.get(`${SOURCES}/${id}/records/${record.id}`)).status).toBe(200)
    await key.delete(`${SOURCES}/${id}/records/${record.id}`)
    expect((await key.delete(`${SOURCES}/${id}`)).status).toBe(204)
    expect((await key.get(`${SOURCES}/${id}`)).body.code).toBe('feedback_source_not_found')
    expect(await createSource(key, 'full')).not.toBe(id)
  })

  test('deletion while records arrive: either all are stored or they get 404', async () => {
    const id = await createSource(key)
    const [deleted, ...answers] = await Promise.all([
      key.delete(`${SOURCES}/${id}`),
      ...Array.from({ length: 16 }, () => key.post(recordsOf(id), { fields: [field()] })),
    ])
    const stored = answers.filter(({ status }) => status === 201).length
    expect(answers.every(({ status }) => status === 201 || status === 404)).toBe(true)
    expect(deleted?.status).toBe(stored === 0 ? 204 : 409)
  })
})

describe('GET feedback-sources', () => {
  test('lists the same sources by page and by cursor, newest first', async () => {
    const own = server.as(await server.createTenant())
    const ids = []
    for (let index = 0; index < 5; index++) ids.unshift(await createSource(own, `s${index}`))
    const idsOf = ({ data }: { data: { id: number }[] }) => data.map(({ id }) => id)
    expect(idsOf((await own.get(SOURCES)).body)).toEqual(ids)
    const first = (await own.get(`${SOURCES}?limit=2`)).body
    expect(first).toMatchObject({ page: 1, limit: 2, has_more: true })
    const second = (await own.get(`${SOURCES}?limit=2&cursor=${first.next_cursor}`)).body
    expect([...idsOf(first), ...idsOf(second)]).toEqual(ids.slice(0, 4))
    expect(second.page).toBeNull()
    const last = (await own.get(`${SOURCES}?limit=2&page=3`)).body
    expect(idsOf(last)).toEqual(ids.slice(4))
    expect(last).toMatchObject({ page: 3, has_more: false, next_cursor: null })
    expect(idsOf((await own.get(`${SOURCES}?name=s3`)).body)).toEqual(ids.slice(1, 2))
  })

  test.each(['limit=0', 'limit=101', 'page=0', 'cursor=nonsense', 'colour=red', 'name=a&name=b'])(
    '400 for ?%s',
    async (query) => {
      expect((await key.get(`${SOURCES}?${query}`)).status).toBe(400)
    },
  )

  test('400 for page together with cursor', async () => {
    const { next_cursor } = (await key.get(`${SOURCES}?limit=1`)).body
    expect((await key.get(`${SOURCES}?limit=1&page=2&cursor=${next_cursor}`)).status).toBe(400)
  })

  test.each(['0', '-1', '1.5', '01', '1e3', '9007199254740993', '99999999999999999999', 'x'])(
    'an id of %s is 404 feedback_source_not_found',
    async (id) => {
      const { status, body } = await key.get(`${SOURCES}/${id}`)
      expect([status, body.code]).toEqual([404, 'feedback_source_not_found'])
    },
  )
})
