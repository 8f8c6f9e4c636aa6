/** `PATCH` and `DELETE /v3/rest/recordings/{recordingId}`. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createTenant, type Tenant } from '../support/metadata.ts'
import {
  countRows,
  createCanonicalField,
  createFolder,
  createRecording,
  NOTHING,
  RECORDINGS,
  utterance,
} from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let acme: Tenant
beforeAll(async () => {
  server = await startTestServer()
  acme = await createTenant(server)
})
afterAll(() => server?.stop())

const get = async (id: string) => (await acme.key.get(`${RECORDINGS}/${id}`)).body
const patch = (id: string, body: unknown) => acme.key.patch(`${RECORDINGS}/${id}`, body)
const values = ({ record }: { record: { values: { fieldId: string; value: unknown }[] } }) =>
  Object.fromEntries(record.values.map(({ fieldId, value }) => [fieldId, value]))

describe('PATCH', () => {
  test('changes only the given members', async () => {
    const before = await createRecording(acme.key, {
      name: 'one',
      source: 'crm',
      record: { externalId: newId() },
    })
    const { status, body } = await patch(before.id, { displayName: ' two ' })
    expect(status).toBe(200)
    expect(body).toEqual({ ...before, displayName: 'two', updatedAt: body.updatedAt })
    expect(body.updatedAt > before.updatedAt).toBe(true)
    expect(await get(before.id)).toEqual(body)
    expect((await patch(before.id, { name: null })).body.displayName).toBeNull()
  })

  test('a summary set or cleared by the caller is kept from then on', async () => {
    const { id } = await createRecording(acme.key)
    const sourceOf = async () => {
      const [row] = await server.database.sql`select summary_source as source from recording where id = ${id}`
      return row?.source
    }
    expect(await sourceOf()).toBeNull()
    expect((await patch(id, { summary: 'Short.' })).body.summary).toBe('Short.')
    expect(await sourceOf()).toBe('api')
    expect((await patch(id, { summary: null })).body.summary).toBeNull()
    expect(await sourceOf()).toBe('api')
  })

  test('folderIds replaces the folders; an invisible folder is 404 and changes nothing', async () => {
    const [a, b] = [await createFolder(acme.key), await createFolder(acme.key)]
    const { id } = await createRecording(acme.key, { folderIds: [a] })
    expect((await patch(id, { folderIds: [b, b.toUpperCase()] })).body.folderIds).toEqual([b])
    const refused = await patch(id, { name: 'changed', folderIds: [a, newId()] })
    expect([refused.status, refused.body.code]).toEqual([404, 'folder_not_found'])
    expect(await get(id)).toMatchObject({ displayName: null, folderIds: [b] })
    expect((await patch(id, { folderIds: [] })).body.folderIds).toEqual([])
  })

  test('folderIds keeps the recording in private folders of other users', async () => {
    const [mine, open] = [await createFolder(acme.user, false), await createFolder(acme.key)]
    const { id } = (await acme.user.post(RECORDINGS, { folderIds: [mine, open] })).body
    const { status, body } = await patch(id, { folderIds: [] })
    // It is out of the key's sight now, but the change was made and is answered.
    expect([status, body.folderIds]).toEqual([200, []])
    expect((await acme.key.get(`${RECORDINGS}/${id}`)).status).toBe(404)
    expect((await acme.user.get(`${RECORDINGS}/${id}`)).body.folderIds).toEqual([mine])
  })

  test('record.values are merged, null is a value, and removeFieldIds removes values', async () => {
    const [a, b, c] = [
      await createCanonicalField(acme.key),
      await createCanonicalField(acme.key, 'integer'),
      await createCanonicalField(acme.key, 'json'),
    ]
    const externalId = newId()
    const record = {
      externalId,
      values: [
        { fieldId: a, value: 'x' },
        { fieldId: b, value: 1 },
      ],
    }
    const { id } = await createRecording(acme.key, { record })
    const set = [
      { fieldId: b.toUpperCase(), value: null },
      { fieldId: c, value: { deep: [1] } },
    ]
    const merged = (await patch(id, { record: { values: set } })).body
    expect(values(merged)).toEqual({ [a]: 'x', [b]: null, [c]: { deep: [1] } })
    expect(merged.record.externalId).toBe(externalId)
    const removed = await patch(id, {
      record: { values: [{ fieldId: a, value: 'y' }], removeFieldIds: [c, b, newId()] },
    })
    expect(values(removed.body)).toEqual({ [a]: 'y' })
  })

  test('concurrent merges of different fields lose no value', async () => {
    const fields = await Promise.all(
      Array.from({ length: 8 }, () => createCanonicalField(acme.key, 'integer')),
    )
    const { id } = await createRecording(acme.key)
    await Promise.all(fields.map((fieldId, value) => patch(id, { record: { values: [{ fieldId, value }] } })))
    expect(values(await get(id))).toEqual(
      Object.fromEntries(fields.map((fieldId, value) => [fieldId, value])),
    )
  })

  test.each([
    [() => ({ source: 'crm' }), 400, 'unknown_member', 'source'],
    [() => ({ record: { colour: 'x' } }), 400, 'unknown_member', 'record.colour'],
    [() => ({ displayName: '  ' }), 400, 'validation_failed', 'displayName'],
    [() => ({ summary: 7 }), 400, 'validation_failed', 'summary'],
    [
      (fieldId: string) => ({ record: { values: [{ fieldId, value: 'x' }], removeFieldIds: [fieldId] } }),
      400,
      'validation_failed',
      'record.values[0].fieldId',
    ],
    [
      (fieldId: string) => ({ name: 'changed', record: { values: [{ fieldId, value: 7 }] } }),
      422,
      'metadata_value_type_mismatch',
      'record.values[0].value',
    ],
    [
      () => ({ name: 'changed', record: { values: [{ fieldId: newId(), value: 7 }] } }),
      422,
      'metadata_field_not_canonical',
      'record.values[0].fieldId',
    ],
    [
      (fieldId: string) => ({
        record: {
          values: [
            { fieldId, value: 'y' },
            { fieldId, value: 'y' },
          ],
        },
      }),
      422,
      'metadata_field_duplicate',
      'record.values[1].fieldId',
    ],
  ])('refuses and changes nothing: %p is %i %s', async (bodyOf, status, code, path) => {
    const fieldId = await createCanonicalField(acme.key)
    const before = await createRecording(acme.key, { record: { values: [{ fieldId, value: 'x' }] } })
    const answer = await patch(before.id, bodyOf(fieldId))
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.body.details[0].path).toBe(path)
    expect(await get(before.id)).toEqual(before)
  })

  test('404 takes precedence over errors in the body', async () => {
    expect((await patch(newId(), { colour: 'red' })).body.code).toBe('recording_not_found')
  })
})

describe('corrections', () => {
  test('startedAt, completedAt, participants and externalId', async () => {
    const before = await createRecording(acme.key, {
      startedAt: '2026-01-02T09:00:00.123456Z',
      completedAt: '2026-01-02T10:00:00Z',
      record: { externalId: `wrong-${newId()}` },
      participants: [{ speaker: 0, email: 'wrong@example.com' }],
      transcript: [utterance(0, 1), { ...utterance(1, 2), speaker: 1 }],
    })
    const externalId = newId()
    const { status, body } = await patch(before.id, {
      startedAt: '2026-01-02T10:00:00+01:00',
      completedAt: null,
      record: { externalId },
      participants: [
        { speaker: 1, email: 'right@example.com', firstName: 'Rita' },
        { speaker: 0, personId: before.participants[0].personId },
      ],
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      startedAt: '2026-01-02T09:00:00.000Z',
      completedAt: null,
      record: { externalId },
      participants: [
        { speaker: 0, email: 'wrong@example.com' },
        { speaker: 1, email: 'right@example.com', firstName: 'Rita' },
      ],
    })
    expect(await get(before.id)).toEqual(body)
    const cleared = await patch(before.id, { participants: [], record: { externalId: null } })
    expect(cleared.body).toMatchObject({ participants: [], record: { externalId: null } })
    expect(cleared.body.record.values).toEqual(before.record.values)
  })

  test('keep values when the external id changes, and the external id when values change', async () => {
    const fieldId = await createCanonicalField(acme.key)
    const record = { externalId: newId(), values: [{ fieldId, value: 'kept' }] }
    const { id } = await createRecording(acme.key, { record })
    const externalId = newId()
    expect(values((await patch(id, { record: { externalId } })).body)).toEqual({ [fieldId]: 'kept' })
    const changed = (await patch(id, { record: { values: [{ fieldId, value: 'new' }] } })).body
    expect(changed.record).toMatchObject({ externalId, values: [{ value: 'new' }] })
  })

  test('an external id of another recording is 409 with the id of that recording, also for concurrent requests', async () => {
    const externalId = newId()
    const holder = await createRecording(acme.key, { record: { externalId } })
    const other = await createRecording(acme.key, {})
    const refused = await patch(other.id, { displayName: 'x', record: { externalId } })
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'recording_external_id_exists', recordingId: holder.id },
    })
    expect((await get(other.id)).displayName).toBeNull()
    expect((await patch(holder.id, { record: { externalId } })).status).toBe(200)
    const wanted = newId()
    const ids = await Promise.all(
      Array.from({ length: 12 }, async () => (await createRecording(acme.key, {})).id),
    )
    const answers = await Promise.all(ids.map((id) => patch(id, { record: { externalId: wanted } })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(11).fill(409)])
  })

  test.each([
    [
      'a beginning after the present end',
      { startedAt: '2026-01-02T10:00:00.000001Z' },
      400,
      'validation_failed',
    ],
    [
      'an end before the present beginning',
      { completedAt: '2026-01-02T08:59:59.999999Z' },
      400,
      'validation_failed',
    ],
    ['a moment without offset', { startedAt: '2026-01-02T09:00:00' }, 400, 'validation_failed'],
    [
      'a participant who does not speak',
      { participants: [{ speaker: 7, email: 'x@example.com' }] },
      400,
      'validation_failed',
    ],
    [
      'a person twice',
      {
        participants: [
          { speaker: 0, email: 'x@example.com' },
          { speaker: 1, email: 'X@example.com' },
        ],
      },
      400,
      'validation_failed',
    ],
    ['an unknown person', { participants: [{ speaker: 0, personId: newId() }] }, 404, 'person_not_found'],
    ['an empty external id', { record: { externalId: '' } }, 400, 'validation_failed'],
  ])('refuse %s, and change nothing', async (_, change, status, code) => {
    const before = await createRecording(acme.key, {
      startedAt: '2026-01-02T09:00:00Z',
      completedAt: '2026-01-02T10:00:00Z',
      participants: [{ speaker: 0, email: 'kept@example.com' }],
      transcript: [utterance(0, 1), { ...utterance(1, 2), speaker: 1 }],
    })
    const answer = await patch(before.id, { displayName: 'changed', ...change })
    expect([answer.status, answer.body.code]).toEqual([status, code])
    const { transcript: _t, ...after } = await get(before.id)
    expect(after).toMatchObject({
      displayName: null,
      participants: before.participants,
      startedAt: before.startedAt,
    })
  })
})

describe('DELETE', () => {
  test('removes the recording with its transcript, search entries, metadata, participants and messages', async () => {
    const own = await startTestServer()
    const tenant = await createTenant(own)
    const fieldId = await createCanonicalField(tenant.key)
    const body = {
      folderIds: [await createFolder(tenant.key)],
      record: { externalId: 'again', values: [{ fieldId, value: 'x' }] },
      transcript: [utterance(0, 1)],
      participants: [{ speaker: 0, email: 'ada@example.com' }],
    }
    const { id } = await createRecording(tenant.key, body)
    await own.database.sql`
      insert into transcript_search (organization_id, recording_id, part, document)
      values (${tenant.organizationId}, ${id}, 0, to_tsvector('x'))`
    const { status, body: nothing } = await tenant.key.delete(`${RECORDINGS}/${id}`)
    expect([status, nothing]).toEqual([204, null])
    // People outlive their recordings.
    expect(await countRows(own.database.sql)).toEqual({ ...NOTHING, person: 1 })
    for (const answer of [
      await tenant.key.get(`${RECORDINGS}/${id}`),
      await tenant.key.delete(`${RECORDINGS}/${id}`),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'recording_not_found'])
    expect((await createRecording(tenant.key, body)).id).not.toBe(id)
    await own.stop()
  })
})
