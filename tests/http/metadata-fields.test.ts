/** Metadata fields over HTTP: the rules of the specification, "Metadata field" and "Metadata". */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  canonicalSource,
  createField,
  createSource,
  createTenant,
  FIELDS,
  insertIntegration,
  SOURCES,
  startTestServer,
  type Tenant,
  type TestServer,
} from '../support/metadata.ts'

let server: TestServer
let tenant: Tenant
/** A source of the customer, and the path of its fields. */
let sourceId: string
let path: string
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
  sourceId = await createSource(tenant.key)
  path = `${SOURCES}/${sourceId}/fields`
})
afterAll(() => server.stop())

const TYPES = ['string', 'boolean', 'integer', 'float', 'date', 'datetime', 'json']

describe('creating a field', () => {
  test.each(TYPES)('of type %s is 201 with Location and the field', async (type) => {
    const { status, headers, body } = await tenant.user.post(path, { name: ` field of ${type} `, type })
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${FIELDS}/${body.id}`)
    expect(body).toEqual({
      id: expect.any(String),
      sourceId,
      name: `field of ${type}`,
      type,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: body.createdAt,
    })
    expect(await tenant.key.get(`${FIELDS}/${body.id}`)).toMatchObject({ status: 200, body })
  })

  test.each<[string, object, string]>([
    ['of the type number', { name: 'n', type: 'number' }, 'type'],
    ['of the type String', { name: 'n', type: 'String' }, 'type'],
    ['of the type null', { name: 'n', type: null }, 'type'],
    ['without a type', { name: 'n' }, 'type'],
    ['without a name', { type: 'string' }, 'name'],
    ['with a blank name', { name: ' \u00a0', type: 'string' }, 'name'],
    ['with a name of 256 characters', { name: 'x'.repeat(256), type: 'string' }, 'name'],
  ])('%s is 400 and creates nothing', async (_, body, place) => {
    const before = await tenant.key.get(`${path}?limit=100`)
    const answer = await tenant.key.post(path, body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.details.map((detail: { path: string }) => detail.path)).toEqual([place])
    expect((await tenant.key.get(`${path}?limit=100`)).body).toEqual(before.body)
  })

  test('takes a name of 255 code points', async () => {
    const name = '😀'.repeat(255)
    expect(await tenant.key.post(path, { name, type: 'json' })).toMatchObject({ status: 201, body: { name } })
  })

  test('with a name used in its source is 409, whatever the type; in another source it is 201', async () => {
    await createField(tenant.key, sourceId, { name: 'unique' })
    for (const field of [
      { name: 'unique', type: 'string' },
      { name: ' unique ', type: 'integer' },
    ])
      expect(await tenant.key.post(path, field)).toMatchObject({ status: 409, body: { code: 'name_exists' } })
    expect((await tenant.key.post(path, { name: 'Unique', type: 'string' })).status).toBe(201)
    const other = await createSource(tenant.key)
    await createField(tenant.key, other, { name: 'unique' })
  })

  test('in the canonical source is 201, and it can be renamed', async () => {
    const canonical = await canonicalSource(tenant.key)
    const id = await createField(tenant.key, canonical, { name: 'deal', type: 'float' })
    const answer = await tenant.key.patch(`${FIELDS}/${id}`, { name: 'deal size' })
    expect(answer).toMatchObject({ status: 200, body: { sourceId: canonical, name: 'deal size' } })
  })

  test('in an integration-managed source is 403', async () => {
    const integration = await insertIntegration(server.database.sql, tenant.organizationId)
    const answer = await tenant.key.post(`${SOURCES}/${integration.sourceId}/fields`, {
      name: 'x',
      type: 'string',
    })
    expect(answer).toMatchObject({ status: 403, body: { code: 'source_read_only' } })
    // Reading it is not.
    const listed = await tenant.key.get(`${SOURCES}/${integration.sourceId}/fields`)
    expect(listed).toMatchObject({ status: 200, body: [{ id: integration.fieldId }] })
    expect((await tenant.key.get(`${FIELDS}/${integration.fieldId}`)).status).toBe(200)
  })

  test('50 at once with one name: exactly one 201 and 49 409', async () => {
    const create = (_: unknown, index: number) =>
      tenant.key.post(path, { name: 'contended', type: TYPES[index % TYPES.length] })
    const answers = await Promise.all(Array.from({ length: 50 }, create))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(49).fill(409)])
  })
})

describe('renaming a field', () => {
  test('is 200 with the field under its trimmed new name; type and source stay', async () => {
    const id = await createField(tenant.key, sourceId, { type: 'date' })
    const { body: before } = await tenant.key.get(`${FIELDS}/${id}`)
    const { status, body } = await tenant.key.patch(`${FIELDS}/${id}`, { name: ' renamed ' })
    expect(status).toBe(200)
    expect(body).toEqual({ ...before, name: 'renamed', updatedAt: expect.stringMatching(/Z$/) })
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt))
    expect((await tenant.key.get(`${FIELDS}/${id}`)).body).toEqual(body)
  })

  test('to its present name is 200 and changes nothing', async () => {
    const id = await createField(tenant.key, sourceId, { name: 'same' })
    const { body: before } = await tenant.key.get(`${FIELDS}/${id}`)
    for (const name of ['same', '  same'])
      expect(await tenant.key.patch(`${FIELDS}/${id}`, { name })).toMatchObject({ status: 200, body: before })
  })

  test('to the name of another field of its source is 409', async () => {
    await createField(tenant.key, sourceId, { name: 'occupied' })
    const id = await createField(tenant.key, sourceId)
    const answer = await tenant.key.patch(`${FIELDS}/${id}`, { name: 'occupied ' })
    expect(answer).toMatchObject({ status: 409, body: { code: 'name_exists' } })
  })

  test.each(['type', 'sourceId', 'id', 'colour'])(
    'takes exactly {name}: with %s, even unchanged, it is 400 unknown_member',
    async (member) => {
      const id = await createField(tenant.key, sourceId)
      const { body: before } = await tenant.key.get(`${FIELDS}/${id}`)
      const answer = await tenant.key.patch(`${FIELDS}/${id}`, { name: 'new', [member]: before[member] ?? 1 })
      expect(answer).toMatchObject({ status: 400, body: { code: 'unknown_member' } })
      expect((await tenant.key.get(`${FIELDS}/${id}`)).body).toEqual(before)
    },
  )

  test.each([[{}], [{ name: '' }], [{ name: ' ' }], [{ name: 'x'.repeat(256) }], [{ name: 1 }]])(
    'to %j is 400',
    async (body) => {
      const id = await createField(tenant.key, sourceId)
      const answer = await tenant.key.patch(`${FIELDS}/${id}`, body)
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    },
  )

  test('in an integration-managed source is 403', async () => {
    const { fieldId } = await insertIntegration(server.database.sql, tenant.organizationId)
    const answer = await tenant.key.patch(`${FIELDS}/${fieldId}`, { name: 'mine' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'source_read_only' } })
  })
})

test('deletion is not exposed: 405 with Allow', async () => {
  const id = await createField(tenant.key, sourceId)
  const answer = await tenant.key.delete(`${FIELDS}/${id}`)
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH'])
})
