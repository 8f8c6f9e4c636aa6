/** Feedback records: the rules of each field, the external id, the person, and reading. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createRecord, createSource, field, putPerson, recordsOf } from '../support/feedback.ts'
import { type Client, startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let key: Client
let sourceId: number
let records: string

beforeAll(async () => {
  server = await startTestServer()
  key = server.as(await server.createTenant())
  sourceId = await createSource(key)
  records = recordsOf(sourceId)
})
afterAll(() => server?.stop())

describe('POST records', () => {
  test('names members that have no meaning', async () => {
    const { status, body } = await key.post(records, { fields: [field()], displayTs: '2026-01-02T10:00:00Z' })
    expect([status, body.ignored]).toEqual([201, ['displayTs']])
  })

  test('201 with exactly the specified members, and Location', async () => {
    const { id: personId } = await putPerson(key, { email: 'ada@example.com' })
    const { status, body, headers } = await key.post(records, {
      person_id: personId,
      display_ts: '2026-01-02T10:00:00.5+01:00',
      external_id: 'ticket-1',
      fields: [field()],
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(Number),
      person_id: personId,
      feedback_source_id: sourceId,
      display_ts: '2026-01-02T09:00:00.500Z',
      external_id: 'ticket-1',
      created_at: expect.stringMatching(/Z$/),
    })
    expect(headers.get('location')).toBe(`${records}/${body.id}`)
    expect((await key.get(`${records}/${body.id}`)).body).toEqual({
      ...body,
      fields: [field()],
      analysis: { state: 'waiting', reason: null, analyzer: null, version: null },
    })
  })

  test('only fields is required; display_ts defaults to the present time', async () => {
    const before = Date.now() - 1000
    const nothing = { person_id: null, external_id: null, display_ts: null }
    for (const more of [{}, nothing]) {
      const body = await createRecord(key, sourceId, more)
      expect(body).toMatchObject({ person_id: null, external_id: null })
      expect(Date.parse(body.display_ts)).toBeWithin(before, Date.now() + 1000)
    }
  })

  test.each([
    ['the year 1', '0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['the year 9999', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('display_ts of %s comes back', async (_, display_ts, expected) => {
    const { id } = await createRecord(key, sourceId, { display_ts })
    expect((await key.get(`${records}/${id}`)).body.display_ts).toBe(expected)
  })

  test.each(['content', 'created_at', 'identifier', 'identity', 'metadata'])(
    'accepts the category %s',
    async (category) => {
      const fields = [field({ category })]
      const { id } = await createRecord(key, sourceId, { fields })
      expect((await key.get(`${records}/${id}`)).body.fields).toEqual(fields)
    },
  )

  test.each([
    ['boolean', false],
    ['date', '2024-02-29'],
    ['datetime', '2026-01-02T03:04:05.678901+05:30'],
    ['float', -0.1],
    ['float', 7],
    ['integer', 9007199254740991],
    ['integer', 0],
    ['json', { a: [null, 'é', { b: 1 }], z: true }],
    ['json', 'text'],
    ['json', false],
    ['string', ''],
    ['string', 'Grüße 👋\n'],
  ])('a value of the type %s is stored as it was sent: %j', async (type, value) => {
    const fields = [field({ type, value })]
    const { id } = await createRecord(key, sourceId, { fields })
    expect((await key.get(`${records}/${id}`)).body.fields).toEqual(fields)
  })

  test.each([
    ['boolean', 'true'],
    ['boolean', 1],
    ['date', '2026-02-29'],
    ['date', '2026-01-02T00:00:00Z'],
    ['datetime', '2026-01-02T03:04:05'],
    ['datetime', '2026-13-02T03:04:05Z'],
    ['datetime', 1767344460],
    ['float', '0.5'],
    ['integer', 0.5],
    ['integer', '7'],
    ['integer', 9007199254740992],
    ['string', 7],
    ['string', ['a']],
    ['boolean', null],
    ['date', null],
    ['datetime', null],
    ['float', null],
    ['integer', null],
    ['json', null],
    ['string', null],
  ])('a value that is not of its type %s is 400: %j', async (type, value) => {
    const { status, body } = await key.post(records, { fields: [field(), field({ type, value })] })
    expect([status, body.code]).toEqual([400, 'validation_failed'])
    expect(body.details[0]).toMatchObject({ path: 'fields[1].value', code: 'type' })
  })

  test('a number out of range is 400', async () => {
    const text = JSON.stringify({ fields: [field({ type: 'float', value: 0 })] }).replace(':0}', ':1e400}')
    expect((await key.post(records, text)).status).toBe(400)
  })

  test.each([
    ['a string of 10,240 bytes', 'string', 'é'.repeat(5120)],
    ['a string that is longer in JSON', 'string', '"'.repeat(10_240)],
    ['JSON of 10,240 bytes', 'json', ['x'.repeat(10_236)]],
  ])('the limit of 10 KB includes %s', async (_, type, value) => {
    const { id } = await createRecord(key, sourceId, { fields: [field({ type, value })] })
    expect((await key.get(`${records}/${id}`)).body.fields[0].value).toEqual(value)
  })

  test.each([
    ['a string of 10,241 bytes', 'string', `${'é'.repeat(5120)}a`],
    ['JSON of 10,241 bytes', 'json', ['x'.repeat(10_237)]],
  ])('the limit of 10 KB refuses %s', async (_, type, value) => {
    const { status, body } = await key.post(records, { fields: [field({ type, value })] })
    expect(status).toBe(400)
    expect(body.details).toMatchObject([{ path: 'fields[0].value', code: 'length' }])
  })

  test('accepts 200 fields at their limits; 201 fields are 400', async () => {
    const full = (count: number) =>
      Array.from({ length: count }, (_, n) => field({ name: `f_${n}`, value: 'x'.repeat(10_240) }))
    const { id } = await createRecord(key, sourceId, { fields: full(200) })
    expect((await key.get(`${records}/${id}`)).body.fields).toHaveLength(200)
    expect((await key.post(records, { fields: full(201) })).body.code).toBe('validation_failed')
  })

  test('a body beyond 4 MiB is payload_too_large', async () => {
    const fields = [field({ value: 'x'.repeat(4 * 1024 * 1024) })]
    expect((await key.post(records, { fields })).body.code).toBe('payload_too_large')
  })

  test.each(['a', 'nps_score', 'priority__c', '2fa', 'x'.repeat(255)])(
    'accepts the name %s',
    async (name) => {
      await createRecord(key, sourceId, { fields: [field({ name })] })
    },
  )

  test.each([
    ['no fields', {}],
    ['an empty list of fields', { fields: [] }],
    ['fields that are no list', { fields: field() }],
    ['a field without category', { fields: [field({ category: undefined })] }],
    ['a field without type', { fields: [field({ type: undefined })] }],
    ['a field without name', { fields: [field({ name: undefined })] }],
    ['a field without value', { fields: [field({ value: undefined })] }],
    ['another category', { fields: [field({ category: 'Content' })] }],
    ['another type', { fields: [field({ type: 'number' })] }],
    ['a name in camelCase', { fields: [field({ name: 'npsScore' })] }],
    ['a name with a space', { fields: [field({ name: 'nps score' })] }],
    ['an empty name', { fields: [field({ name: '' })] }],
    ['a name of 256 characters', { fields: [field({ name: 'x'.repeat(256) })] }],
    ['U+0000 in a value', { fields: [field({ value: 'a\0' })] }],
    ['a lone surrogate in a value', { fields: [field({ type: 'json', value: ['\ud800'] })] }],
    ['a person_id that is no integer', { fields: [field()], person_id: '1' }],
    ['a person_id of 0', { fields: [field()], person_id: 0 }],
    ['a person_id with a fraction', { fields: [field()], person_id: 1.5 }],
    ['a display_ts without offset', { fields: [field()], display_ts: '2026-01-02T03:04:05' }],
    ['a display_ts of no calendar', { fields: [field()], display_ts: '2026-02-30T03:04:05Z' }],
    ['an empty external_id', { fields: [field()], external_id: '' }],
    ['an external_id of 256 characters', { fields: [field()], external_id: 'x'.repeat(256) }],
    ['an external_id that is no string', { fields: [field()], external_id: 7 }],
  ])('400 for %s', async (_, body) => {
    const answer = await key.post(records, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed'])
  })

  test('an unknown person, or one of another organization, is 404 person_not_found', async () => {
    const stranger = server.as(await server.createTenant())
    const { id } = await putPerson(stranger, { email: 'ada@example.com' })
    for (const person_id of [id, 9007199254740991]) {
      const { status, body } = await key.post(records, { person_id, fields: [field()] })
      expect([status, body.code]).toEqual([404, 'person_not_found'])
    }
  })
})

describe('external_id', () => {
  test('409 external_id_exists carries the id of the existing record and changes nothing', async () => {
    const first = await createRecord(key, sourceId, { external_id: 'taken' })
    const { status, body } = await key.post(records, {
      external_id: 'taken',
      fields: [field({ value: 'b' })],
    })
    expect([status, body.code]).toEqual([409, 'external_id_exists'])
    expect(body).toMatchObject({ error: 'Conflict', id: first.id, recordId: first.id })
    expect((await key.get(`${records}/${first.id}`)).body.fields).toEqual([field()])
  })

  test('is unique within its source; another source may use it', async () => {
    await createRecord(key, sourceId, { external_id: 'shared' })
    await createRecord(key, await createSource(key), { external_id: 'shared' })
  })

  test('exactly one of 64 concurrent requests gets 201; the others get 409 with its id', async () => {
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => key.post(records, { external_id: 'rush', fields: [field()] })),
    )
    const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.id)
    expect(ids).toHaveLength(1)
    for (const { status, body } of answers)
      if (status !== 201) expect([status, body.id]).toEqual([409, ids[0]])
  })

  test('can be reused after its record is deleted', async () => {
    const { id } = await createRecord(key, sourceId, { external_id: 'again' })
    expect((await key.delete(`${records}/${id}`)).status).toBe(204)
    expect((await key.get(`${records}/${id}`)).body.code).toBe('feedback_record_not_found')
    expect((await key.delete(`${records}/${id}`)).body.code).toBe('feedback_record_not_found')
    await createRecord(key, sourceId, { external_id: 'again' })
  })
})

describe('failures', () => {
  const good = { fields: [field()] }

  test('401 without a key, with a wrong key, and for a user token alone', async () => {
    const { userToken } = await server.createTenant()
    for (const caller of ['nobody', { apiKey: 'esk_wrong' }, { userToken }] as const) {
      const { status, body, headers } = await server.as(caller).post(recordsOf(0), 'nonsense')
      expect([status, body.code]).toEqual([401, 'unauthenticated'])
      expect(headers.get('www-authenticate')).toContain('X-Service-Api-Key')
    }
  })

  test('404 of the source comes before any error in the body', async () => {
    for (const id of ['x', '0', '9007199254740991', '1.0']) {
      for (const [body, headers] of [
        [good],
        ['nonsense'],
        ['x', { 'content-type': 'text/plain' }],
      ] as const) {
        const answer = await key.post(`/v3/rest/feedback-sources/${id}/records`, body, headers)
        expect([answer.status, answer.body.code]).toEqual([404, 'feedback_source_not_found'])
      }
    }
  })

  test('404 of the person comes before 400, and 400 before 409', async () => {
    await createRecord(key, sourceId, { external_id: 'order' })
    const unknown = await key.post(records, { person_id: 9007199254740991, external_id: 'order', fields: [] })
    expect(unknown.body.code).toBe('person_not_found')
    expect((await key.post(records, { external_id: 'order', fields: [] })).status).toBe(400)
    expect((await key.post(records, { external_id: 'order', ...good })).status).toBe(409)
  })

  test('the source of another organization is 404', async () => {
    const stranger = server.as(await server.createTenant())
    const foreign = await createSource(stranger)
    const { id } = await createRecord(stranger, foreign)
    const calls = [
      key.post(recordsOf(foreign), good),
      key.get(recordsOf(foreign)),
      key.get(`${recordsOf(foreign)}/${id}`),
      key.delete(`${recordsOf(foreign)}/${id}`),
    ]
    for (const { status, body } of await Promise.all(calls))
      expect([status, body.code]).toEqual([404, 'feedback_source_not_found'])
    expect((await stranger.get(`${recordsOf(foreign)}/${id}`)).status).toBe(200)
  })

  test('a record is found under its own source only', async () => {
    const { id } = await createRecord(key, sourceId)
    const other = await createSource(key)
    expect((await key.get(`${recordsOf(other)}/${id}`)).body.code).toBe('feedback_record_not_found')
    expect((await key.delete(`${recordsOf(other)}/${id}`)).body.code).toBe('feedback_record_not_found')
  })

  test('400 malformed_json and 415 unsupported_media_type for a known source', async () => {
    expect((await key.post(records, '{')).body.code).toBe('malformed_json')
    expect((await key.post(records, '{}', { 'content-type': 'text/plain' })).body.code).toBe(
      'unsupported_media_type',
    )
  })
})

describe('GET records', () => {
  test('filters by external_id, person_id and moments; newest first by page and cursor', async () => {
    const source = await createSource(key)
    const path = recordsOf(source)
    const { id: person_id } = await putPerson(key, { email: 'list@example.com' })
    const days = ['03', '01', '02'].map((day) => `2026-01-${day}T00:00:00Z`)
    const ids: number[] = []
    for (const [index, display_ts] of days.entries()) {
      const more = index === 1 ? { person_id } : {}
      ids.push((await createRecord(key, source, { display_ts, external_id: `e${index}`, ...more })).id)
    }
    const [a, b, c] = ids
    const list = async (query: string) => {
      const { body } = await key.get(`${path}?${query}`)
      return body.data.map(({ id }: { id: number }) => id)
    }
    expect(await list('')).toEqual([c, b, a])
    expect(await list('external_id=e1')).toEqual([b])
    expect(await list(`person_id=${person_id}`)).toEqual([b])
    expect(await list('person_id=9007199254740991')).toEqual([])
    expect(await list('since=2026-01-02T00:00:00Z')).toEqual([a, c])
    expect(await list('until=2026-01-02T00:00:00Z')).toEqual([b])
    expect(await list('since=2026-01-02T00:00:00Z&created_after=2026-01-02T00:00:00Z')).toEqual([c, a])
    expect(await list('created_before=2026-01-02T00:00:00Z')).toEqual([])
    expect(await list('page=2&limit=2')).toEqual([a])
    const first = (await key.get(`${path}?limit=2`)).body
    expect(first.data[0]).toMatchObject({ feedback_source_id: source, fields: [field()] })
    expect(await list(`limit=2&cursor=${first.next_cursor}`)).toEqual([a])
    const byDisplay = (await key.get(`${path}?limit=1&since=2026-01-02T00:00:00Z`)).body
    expect(await list(`since=2026-01-02T00:00:00Z&cursor=${byDisplay.next_cursor}`)).toEqual([c])
    for (const query of [
      'since=2026-02-30T00:00:00Z',
      'created_after=x',
      'person_id=x',
      'colour=red',
      'limit=0',
    ])
      expect((await key.get(`${path}?${query}`)).status).toBe(400)
    expect((await key.get(`${recordsOf(9007199254740991)}?colour=red`)).status).toBe(404)
  })

  test('rejects the cursor of another list', async () => {
    await createRecord(key, sourceId)
    await createRecord(key, sourceId)
    const { next_cursor } = (await key.get(`${records}?limit=1`)).body
    expect((await key.get(`/v3/rest/people?cursor=${next_cursor}`)).status).toBe(400)
  })
})

describe('GET records of every source', () => {
  const LIST = '/v3/rest/feedback-records'

  test('one list by display time over the sources, under the filters of one source', async () => {
    const tenant = await server.createTenant()
    const own = server.as(tenant)
    const [desk, survey] = [await createSource(own), await createSource(own)]
    const { id: person_id } = await putPerson(own, { email: 'every@example.com' })
    const record = async (source: number, day: string, external_id: string, more = {}) =>
      (await createRecord(own, source, { display_ts: `2026-01-${day}T00:00:00Z`, external_id, ...more })).id
    const a = await record(desk, '03', 'e1')
    const b = await record(survey, '01', 'e1', { person_id })
    const c = await record(desk, '02', 'e2', { person_id })
    const d = await record(survey, '04', 'e3')
    const ids = (body: { readonly data: readonly { readonly id: number }[] }) => body.data.map(({ id }) => id)
    const list = async (query: string) => ids((await own.get(`${LIST}?${query}`)).body)
    expect(await list('')).toEqual([d, a, c, b])
    expect(await list('external_id=e1')).toEqual([a, b])
    expect(await list(`person_id=${person_id}`)).toEqual([c, b])
    expect(await list('since=2026-01-02T00:00:00Z&until=2026-01-04T00:00:00Z')).toEqual([a, c])
    expect(await list('created_after=2026-01-05T00:00:00Z')).toEqual([d, c, b, a])
    expect(await list('page=2&limit=3')).toEqual([b])
    const { body: first } = await own.get(`${LIST}?limit=3`)
    expect(first.data[0]).toMatchObject({ feedback_source_id: survey, fields: [field()], analysis: {} })
    expect(await list(`limit=3&cursor=${first.next_cursor}`)).toEqual([b])
    expect((await own.get(`${LIST}?colour=red`)).status).toBe(400)
    expect(ids((await server.as({ userToken: tenant.userToken }).get(LIST)).body)).toEqual([d, a, c, b])
  })

  test('another organization sees none of them', async () => {
    await createRecord(key, sourceId)
    const stranger = server.as(await server.createTenant())
    expect((await stranger.get(LIST)).body.data).toEqual([])
  })
})
