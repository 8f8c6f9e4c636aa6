/** Metadata sources over HTTP: the rules of the specification, "Metadata source" and "Metadata". */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  canonicalSource,
  createSource,
  createTenant,
  insertIntegration,
  SOURCES,
  startTestServer,
  type Tenant,
  type TestServer,
} from '../support/metadata.ts'

let server: TestServer
let tenant: Tenant
beforeAll(async () => {
  server = await startTestServer()
  tenant = await createTenant(server)
})
afterAll(() => server.stop())

const NAMES = 'externalEntityName'
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('creating a source', () => {
  test('is 201 with Location and the source; the server sets type api and managedBy customer', async () => {
    const given = { externalEntityName: 'accounts', type: 'salesforce', managedBy: 'service' }
    const { status, headers, body } = await tenant.key.post(SOURCES, given)
    expect(status).toBe(201)
    expect(headers.get('location')).toBe(`${SOURCES}/${body.id}`)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      externalEntityName: 'accounts',
      type: 'api',
      managedBy: 'customer',
      isCanonicalRecordingSource: false,
      createdAt: expect.stringMatching(ISO),
      updatedAt: body.createdAt,
    })
    expect(await tenant.user.get(`${SOURCES}/${body.id}`)).toMatchObject({ status: 200, body })
  })

  test('accepts a user access token', async () => {
    expect((await tenant.user.post(SOURCES, { externalEntityName: 'by a user' })).status).toBe(201)
  })

  test.each([
    ['one character', 'x'],
    ['255 code points of two code units each', '😀'.repeat(255)],
    ['255 characters between blanks', ` \t${'y'.repeat(255)}\n `],
  ])('takes a name of %s, stored trimmed', async (_, name) => {
    const { status, body } = await tenant.key.post(SOURCES, { externalEntityName: name })
    expect([status, body.externalEntityName]).toEqual([201, name.trim()])
  })

  test.each<[string, unknown, string]>([
    ['no name', {}, 'validation_failed'],
    ['an empty name', { [NAMES]: '' }, 'validation_failed'],
    ['a blank name', { [NAMES]: ' \n\t ' }, 'validation_failed'],
    ['a name of 256 characters', { [NAMES]: 'x'.repeat(256) }, 'validation_failed'],
    ['a name of 256 code points', { [NAMES]: '😀'.repeat(256) }, 'validation_failed'],
    ['a name that is a number', { [NAMES]: 7 }, 'validation_failed'],
    ['a name that is null', { [NAMES]: null }, 'validation_failed'],
    ['a name with U+0000', { [NAMES]: 'a\u0000b' }, 'validation_failed'],
    ['a name with half a surrogate pair', `{"${NAMES}": "\\ud800"}`, 'validation_failed'],
    ['an array', [], 'validation_failed'],
    ['malformed JSON', '{', 'malformed_json'],
    ['nothing', '', 'malformed_json'],
  ])('with %s is 400 and creates nothing', async (_, body, code) => {
    const before = await tenant.key.get(`${SOURCES}?limit=100`)
    expect(await tenant.key.post(SOURCES, body)).toMatchObject({ status: 400, body: { code } })
    expect((await tenant.key.get(`${SOURCES}?limit=100`)).body).toEqual(before.body)
  })

  test('with another media type is 415', async () => {
    const answer = await tenant.key.post(SOURCES, { [NAMES]: 'form' }, { 'content-type': 'text/plain' })
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  test('repeated after a success is 409, also with blanks around the name', async () => {
    await createSource(tenant.key, 'taken')
    for (const name of ['taken', '  taken\n'])
      expect(await tenant.key.post(SOURCES, { [NAMES]: name })).toMatchObject({
        status: 409,
        body: { code: 'name_exists', error: 'Conflict' },
      })
  })

  test('compares names case-sensitively', async () => {
    await createSource(tenant.key, 'Case')
    expect((await tenant.key.post(SOURCES, { [NAMES]: 'case' })).status).toBe(201)
  })

  test('accepts the name of a source of another type or organization', async () => {
    const { sourceId } = await insertIntegration(server.database.sql, tenant.organizationId)
    expect((await tenant.key.post(SOURCES, { [NAMES]: sourceId })).status).toBe(201)
    const other = await createTenant(server)
    expect((await other.key.post(SOURCES, { [NAMES]: sourceId })).status).toBe(201)
  })

  test('named recordings is 409 even before the canonical source exists', async () => {
    const fresh = await createTenant(server)
    for (const name of ['recordings', ' recordings '])
      expect(await fresh.key.post(SOURCES, { [NAMES]: name })).toMatchObject({
        status: 409,
        body: { code: 'name_exists' },
      })
    const { sql } = server.database
    expect(await sql`select from metadata_source where organization_id = ${fresh.organizationId}`).toEqual(
      [] as never,
    )
    await canonicalSource(fresh.key)
    expect((await fresh.key.post(SOURCES, { [NAMES]: 'recordings' })).status).toBe(409)
    expect((await fresh.key.post(SOURCES, { [NAMES]: 'Recordings' })).status).toBe(201)
  })

  test('50 at once with one name: exactly one 201 and 49 409', async () => {
    const create = (_: unknown, index: number) =>
      (index % 2 ? tenant.key : tenant.user).post(SOURCES, { [NAMES]: 'contended' })
    const answers = await Promise.all(Array.from({ length: 50 }, create))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(49).fill(409)])
  })
})

describe('the canonical source', () => {
  test('is created by the first list: recordings, api, service, true', async () => {
    const fresh = await createTenant(server)
    const { status, body } = await fresh.key.get(SOURCES)
    expect(status).toBe(200)
    expect(body).toEqual([
      {
        id: expect.any(String),
        externalEntityName: 'recordings',
        type: 'api',
        managedBy: 'service',
        isCanonicalRecordingSource: true,
        createdAt: expect.stringMatching(ISO),
        updatedAt: expect.stringMatching(ISO),
      },
    ])
  })

  test('is created exactly once by 50 concurrent lists, which all include it', async () => {
    const fresh = await createTenant(server)
    const answers = await Promise.all(Array.from({ length: 50 }, () => fresh.key.get(SOURCES)))
    const ids = answers.flatMap(({ body }) => body.map((source: { id: string }) => source.id))
    expect(ids).toHaveLength(50)
    expect(new Set(ids).size).toBe(1)
  })

  test('is not written again once it exists', async () => {
    const fresh = await createTenant(server)
    const { sql } = server.database
    await canonicalSource(fresh.key)
    const version = () =>
      sql`select xmin, ctid, updated_at from metadata_source where organization_id = ${fresh.organizationId}`
    const before = await version()
    // A write would be refused here.
    await sql`create function refuse() returns trigger language plpgsql as $$ begin raise 'written'; end $$`
    await sql`create trigger refuse before insert or update on metadata_source execute function refuse()`
    expect((await fresh.key.get(SOURCES)).status).toBe(200)
    await sql`drop trigger refuse on metadata_source`
    await sql`drop function refuse`
    expect(await version()).toEqual(before)
  })

  test('comes first, even if others are older', async () => {
    const fresh = await createTenant(server)
    const older = await createSource(fresh.key, 'older')
    const { body } = await fresh.key.get(SOURCES)
    expect(body.map((source: { id: string }) => source.id)).toEqual([expect.not.stringMatching(older), older])
    expect(body[0].isCanonicalRecordingSource).toBe(true)
  })

  test('cannot be renamed: 403', async () => {
    const id = await canonicalSource(tenant.key)
    const answer = await tenant.key.patch(`${SOURCES}/${id}`, { [NAMES]: 'mine' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'source_read_only', error: 'Forbidden' } })
  })
})

describe('renaming a source', () => {
  test('is 200 with the source under its trimmed new name', async () => {
    const id = await createSource(tenant.key, 'before')
    const { body: before } = await tenant.key.get(`${SOURCES}/${id}`)
    const { status, body } = await tenant.key.patch(`${SOURCES}/${id}`, { [NAMES]: '  after ' })
    expect(status).toBe(200)
    expect(body).toEqual({ ...before, externalEntityName: 'after', updatedAt: expect.stringMatching(ISO) })
    expect(Date.parse(body.updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt))
    expect((await tenant.key.get(`${SOURCES}/${id}`)).body).toEqual(body)
    // The old name is free again.
    expect((await tenant.key.post(SOURCES, { [NAMES]: 'before' })).status).toBe(201)
  })

  test('to its present name is 200 and changes nothing', async () => {
    const id = await createSource(tenant.key, 'same')
    const { body: before } = await tenant.key.get(`${SOURCES}/${id}`)
    for (const name of ['same', ' same '])
      expect(await tenant.key.patch(`${SOURCES}/${id}`, { [NAMES]: name })).toMatchObject({
        status: 200,
        body: before,
      })
  })

  test('to the name of another API source, or the reserved one, is 409', async () => {
    const id = await createSource(tenant.key)
    await createSource(tenant.key, 'occupied')
    for (const name of ['occupied', 'recordings', ' recordings '])
      expect(await tenant.key.patch(`${SOURCES}/${id}`, { [NAMES]: name })).toMatchObject({
        status: 409,
        body: { code: 'name_exists' },
      })
  })

  test.each(['type', 'managedBy', 'isCanonicalRecordingSource', 'id', 'colour'])(
    'takes exactly {externalEntityName}: with %s it is 400 unknown_member',
    async (member) => {
      const id = await createSource(tenant.key)
      const path = `${SOURCES}/${id}`
      const { body: before } = await tenant.key.get(path)
      const answer = await tenant.key.patch(path, { [NAMES]: 'new', [member]: before[member] ?? 'red' })
      expect(answer).toMatchObject({ status: 400, body: { code: 'unknown_member' } })
      expect(answer.body.details).toEqual([
        { path: member, code: 'unknown_member', message: expect.any(String) },
      ])
      expect((await tenant.key.get(path)).body).toEqual(before)
    },
  )

  test.each([[{}], [{ [NAMES]: '  ' }], [{ [NAMES]: 'x'.repeat(256) }], [{ [NAMES]: false }]])(
    'to %j is 400',
    async (body) => {
      const id = await createSource(tenant.key)
      const answer = await tenant.key.patch(`${SOURCES}/${id}`, body)
      expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
      expect(answer.body.details[0].path).toBe(NAMES)
    },
  )

  test('of an integration-managed source is 403', async () => {
    const { sourceId } = await insertIntegration(server.database.sql, tenant.organizationId)
    const answer = await tenant.user.patch(`${SOURCES}/${sourceId}`, { [NAMES]: 'mine' })
    expect(answer).toMatchObject({ status: 403, body: { code: 'source_read_only' } })
  })

  test('20 sources at once to one name: exactly one 200 and 19 409', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => createSource(tenant.key)))
    const answers = await Promise.all(
      ids.map((id) => tenant.key.patch(`${SOURCES}/${id}`, { [NAMES]: 'goal' })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)])
  })
})

test('deletion is not exposed: 405 with Allow', async () => {
  const id = await createSource(tenant.key)
  const answer = await tenant.key.delete(`${SOURCES}/${id}`)
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH'])
})
