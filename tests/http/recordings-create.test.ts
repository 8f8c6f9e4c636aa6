/** `POST /v3/rest/recordings`: the members of the body, and the numbered rules of the specification's "Create". */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createField, createSource, createTenant, type Tenant } from '../support/metadata.ts'
import {
  createCanonicalField,
  createFolder,
  createRecording,
  RECORDINGS,
  utterance,
} from '../support/recordings.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

let server: TestServer
let acme: Tenant
let stranger: Tenant
beforeAll(async () => {
  server = await startTestServer()
  acme = await createTenant(server)
  stranger = await createTenant(server)
})
afterAll(() => server?.stop())

const create = (body: unknown) => acme.key.post(RECORDINGS, body)
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Refused with the status, the code and a finding at the place; and nothing was made. */
async function refused(body: unknown, status: number, code: string, path?: string) {
  const before = await recordings()
  const answer = await create(body)
  expect([answer.status, answer.body.code]).toEqual([status, code])
  if (path !== undefined) expect(answer.body.details[0].path).toBe(path)
  expect(await recordings()).toBe(before)
  return answer
}

async function recordings(): Promise<number> {
  const [row] = await server.database.sql`select count(*)::int as count from recording`
  return row?.count
}

describe('create', () => {
  test('{} creates a recording: 201, Location, a UUIDv7 and the defaults', async () => {
    const { status, headers, body } = await create({})
    expect(status).toBe(201)
    expect(body.id).toMatch(UUID_V7)
    expect(headers.get('location')).toBe(`${RECORDINGS}/${body.id}`)
    expect(body).toMatchObject({
      displayName: null,
      source: 'api',
      startedAt: null,
      completedAt: null,
      summary: null,
      folderIds: [],
      asset: null,
      transcript: { status: 'waiting', source: null },
      participants: [],
      record: { externalId: null, values: [] },
      metadata: [{ externalEntityName: 'recordings', isCanonicalRecordingSource: true, externalId: null }],
    })
    expect((await acme.key.get(`${RECORDINGS}/${body.id}`)).body).toEqual(body)
  })

  test('create, get and list return every stored member', async () => {
    const folderId = await createFolder(acme.key)
    const [amount, plan] = [
      await createCanonicalField(acme.key, 'float'),
      await createCanonicalField(acme.key, 'json'),
    ]
    const externalId = newId()
    const { status, body } = await create({
      displayName: '  Quarterly review 😀 ',
      startedAt: '2026-01-02T10:00:00.5+01:00',
      completedAt: '2026-01-02T09:30:00Z',
      source: 'crm',
      record: {
        externalId,
        values: [
          { fieldId: amount, value: 12.5 },
          { fieldId: plan.toUpperCase(), value: null },
        ],
      },
      folderIds: [folderId],
      assetUrl: 'https://media.example.com/call.mp4',
      transcript: { utterances: [utterance(0, 2, 7), utterance(1, 3, 2)] },
      participants: [
        { speaker: 7, email: ' Ada@Example.com ', firstName: ' Ada ', lastName: 'Lovelace' },
        { speaker: 2, email: `${newId()}@example.com` },
      ],
      summary: 'All is well.',
      somethingElse: 'is ignored',
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      displayName: 'Quarterly review 😀',
      startedAt: '2026-01-02T09:00:00.500Z',
      completedAt: '2026-01-02T09:30:00.000Z',
      source: 'crm',
      summary: 'All is well.',
      folderIds: [folderId],
      asset: { status: 'queued', url: null, errorCode: null },
      transcript: { status: 'completed', source: 'api' },
      record: {
        externalId,
        values: [
          { fieldId: amount, type: 'float', value: 12.5 },
          { fieldId: plan, type: 'json', value: null },
        ],
      },
    })
    expect(body.participants).toHaveLength(2)
    expect(body.participants[1]).toMatchObject({
      speaker: 7,
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'Ada@Example.com',
    })
    expect(body.participants[1].personId).toMatch(UUID_V7)
    expect((await acme.key.get(`${RECORDINGS}/${body.id}`)).body).toEqual(body)
    const { body: page } = await acme.key.get(`${RECORDINGS}?external_id=${externalId}`)
    expect(page.data).toMatchObject([
      {
        id: body.id,
        display_name: 'Quarterly review 😀',
        source: 'crm',
        started_at: '2026-01-02T09:00:00.500Z',
        completed_at: '2026-01-02T09:30:00.000Z',
        asset_url: null,
        asset_duration_seconds: null,
        transcript_status: 'completed',
        summary: 'All is well.',
        metadata: [
          {
            external_id: externalId,
            values: [
              { field_id: amount, value: 12.5 },
              { field_id: plan, value: null },
            ],
          },
        ],
      },
    ])
    for (const answer of [body, page]) expect(JSON.stringify(answer)).not.toContain('media.example.com')
  })

  test('a user token creates recordings like an API key', async () => {
    const { status, body } = await acme.user.post(RECORDINGS, { name: 'By a user' })
    expect([status, body.displayName]).toEqual([201, 'By a user'])
  })

  test.each([
    [{ displayName: '' }, 'displayName'],
    [{ name: '   ' }, 'name'],
    [{ displayName: 'x'.repeat(256) }, 'displayName'],
    [{ displayName: 'one', name: 'two' }, 'name'],
    [{ displayName: 7 }, 'displayName'],
    [{ source: '' }, 'source'],
    [{ source: 'x'.repeat(65) }, 'source'],
    [{ startedAt: '2026-01-02T03:04:05' }, 'startedAt'],
    [{ startedAt: '2026-02-30T00:00:00Z' }, 'startedAt'],
    [{ completedAt: 'yesterday' }, 'completedAt'],
    [{ startedAt: '2026-01-02T00:00:00.000002Z', completedAt: '2026-01-02T00:00:00.000001Z' }, 'completedAt'],
    [{ startedAt: '2026-01-02T00:00:00.1Z', completedAt: '2026-01-02T00:00:00Z' }, 'completedAt'],
    [{ summary: '' }, 'summary'],
    [{ folderIds: 'all' }, 'folderIds'],
    [{ folderIds: ['7'] }, 'folderIds[0]'],
    [{ record: { externalId: '' } }, 'record.externalId'],
    [{ record: { values: [{ fieldId: '12', value: 1 }] } }, 'record.values[0].fieldId'],
    [{ record: { values: [{ fieldId: newId() }] } }, 'record.values[0].value'],
    [{ participants: [{ email: 'a@example.com' }] }, 'participants[0].speaker'],
    [{ participants: [{ speaker: -1, email: 'a@example.com' }] }, 'participants[0].speaker'],
    [{ participants: [{ speaker: 0.5, email: 'a@example.com' }] }, 'participants[0].speaker'],
    [{ participants: [{ speaker: 0 }] }, 'participants[0]'],
    [{ participants: [{ speaker: 0, email: 'nobody' }] }, 'participants[0].email'],
    [{ participants: [{ speaker: 0, personId: '12' }] }, 'participants[0].personId'],
    [{ participants: [{ speaker: 0, personId: newId(), email: 'a@example.com' }] }, 'participants[0].email'],
    [{ transcript: 'hello' }, 'transcript'],
  ])('400 validation_failed: %j', async (body, path) => {
    await refused(body, 400, 'validation_failed', path)
  })

  test.each([
    [{ displayName: 'x'.repeat(255) }],
    [{ displayName: '😀'.repeat(255) }],
    [{ displayName: null, summary: null, startedAt: null, completedAt: null, assetUrl: null }],
    [{ displayName: 'same', name: ' same ' }],
    [{ displayName: null, name: null }],
    [{ source: '😀'.repeat(64) }],
    [{ startedAt: '2026-01-02T00:00:00.1Z', completedAt: '2026-01-02T00:00:00.100Z' }],
    [{ record: {}, folderIds: [], participants: [], transcript: [] }],
    [{ participants: [{ speaker: 4, email: 'without.a.transcript@example.com' }] }],
  ])('201: %j', async (body) => {
    expect((await create(body)).status).toBe(201)
  })
})

describe('rules of create', () => {
  test('rule 1: recording, folders, record, values, participants and transcript are committed together', async () => {
    const folderId = await createFolder(acme.key)
    const fieldId = await createCanonicalField(acme.key)
    const { id } = await createRecording(acme.key, {
      folderIds: [folderId],
      record: { externalId: newId(), values: [{ fieldId, value: 'x' }] },
      transcript: [utterance(0, 1)],
      participants: [{ speaker: 0, email: `${newId()}@example.com` }],
    })
    const [written] = await server.database.sql`
      select r.xmin::text as recording, f.xmin::text as folder, p.xmin::text as participant,
        m.xmin::text as record, v.xmin::text as value, u.xmin::text as utterance, a.xmin::text as message
      from recording r
      join recording_folder f on f.recording_id = r.id
      join recording_participant p on p.recording_id = r.id
      join metadata_record m on m.recording_id = r.id
      join metadata_value v on v.record_id = m.id
      join transcript_utterance u on u.recording_id = r.id
      join actor_message a on a.key = 'recording:' || r.id and a.type = 'transcript_completed'
      where r.id = ${id}`
    expect(new Set(Object.values(written as object)).size).toBe(1)
  })

  test('rule 2: folderIds is deduplicated', async () => {
    const [a, b] = [await createFolder(acme.key), await createFolder(acme.key)]
    const { folderIds } = await createRecording(acme.key, { folderIds: [b, a, b, a.toUpperCase()] })
    expect(folderIds.toSorted()).toEqual([a, b].toSorted())
  })

  test('rule 2: a folder that does not resolve for the principal is 404 folder_not_found', async () => {
    const good = await createFolder(acme.key)
    const ofStranger = await createFolder(stranger.key)
    const ofUser = await createFolder(acme.user, false)
    for (const folderId of [newId(), ofStranger, ofUser])
      await refused({ folderIds: [good, folderId] }, 404, 'folder_not_found')
    expect((await acme.user.post(RECORDINGS, { folderIds: [good, ofUser] })).status).toBe(201)
  })

  test('rule 3: 409 recording_external_id_exists carries the id of the existing recording and changes nothing', async () => {
    const externalId = newId()
    const first = await createRecording(acme.key, { name: 'first', record: { externalId } })
    const { body } = await refused(
      { name: 'second', record: { externalId } },
      409,
      'recording_external_id_exists',
    )
    expect(body.recordingId).toBe(first.id)
    expect((await acme.key.get(`${RECORDINGS}/${first.id}`)).body).toEqual(first)
  })

  test('rule 3: another organization may use the same record.externalId; ids are case-sensitive', async () => {
    const externalId = `x${newId()}`
    for (const [tenant, id] of [
      [acme, externalId],
      [stranger, externalId],
      [acme, externalId.toUpperCase()],
    ] as const)
      expect((await tenant.key.post(RECORDINGS, { record: { externalId: id } })).status).toBe(201)
  })

  test('rule 3: 50 concurrent creates with one record.externalId: one 201 and 49 409 with its id', async () => {
    // The first use of an organization also makes its canonical source.
    const fresh = await createTenant(server)
    const body = {
      record: { externalId: 'lost answer' },
      transcript: [utterance(0, 1)],
      participants: [{ speaker: 0, email: 'ada@example.com' }],
    }
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 ? fresh.key : fresh.user).post(RECORDINGS, body)),
    )
    const made = answers.filter(({ status }) => status === 201)
    expect(made).toHaveLength(1)
    const others = answers.filter(({ status }) => status !== 201)
    expect(
      new Set(others.map(({ status, body: { code, recordingId } }) => `${status} ${code} ${recordingId}`)),
    ).toEqual(new Set([`409 recording_external_id_exists ${made[0]?.body.id}`]))
    expect((await fresh.key.get(RECORDINGS)).body.data).toHaveLength(1)
  })

  test.each([
    'ftp://media.example.com/a.mp3',
    'https://user:secret@media.example.com/a.mp3',
    'http://localhost/a.mp3',
    'http://127.0.0.1/a.mp3',
    'http://0x7f.1/a.mp3',
    'http://10.0.0.8/a.mp3',
    'http://[::ffff:10.0.0.8]/a.mp3',
    'http://169.254.169.254/latest/meta-data',
    'http://printer.local/a.mp3',
    'a.mp3',
    '',
  ])('rule 4: assetUrl %j is 400 url_not_allowed', async (assetUrl) => {
    await refused({ assetUrl }, 400, 'url_not_allowed', 'assetUrl')
  })

  test('rule 4: create does not fetch assetUrl: the recording exists at once with its asset queued', async () => {
    const { asset } = await createRecording(acme.key, { assetUrl: 'http://no-such-host.example/a.mp3' })
    expect(asset).toMatchObject({ status: 'queued', url: null, urlExpiresAt: null, errorCode: null })
  })

  test.each([
    [[{ ...utterance(0, 1), startSec: -1 }], 'transcript[0].startSec'],
    [[utterance(2, 1)], 'transcript[0].endSec'],
    [[utterance(5, 6), utterance(4, 5)], 'transcript[1].startSec'],
    [[utterance(0, 2), utterance(1, 3)], 'transcript[1].startSec'],
    [[utterance(0, 1, 0, '  ')], 'transcript[0].text'],
    [[utterance(0, 1, 0.5)], 'transcript[0].speaker'],
  ])('rule 6: a transcript that breaks it is 400: %j', async (transcript, path) => {
    await refused({ transcript }, 400, 'validation_failed', path)
  })

  test('rule 6: every participant must speak in a supplied transcript; a speaker may be unlabeled', async () => {
    const transcript = [utterance(0, 1, 1), utterance(1, 2, 2)]
    const participants = [
      { speaker: 1, email: 'a@example.com' },
      { speaker: 3, email: 'b@example.com' },
    ]
    await refused({ transcript, participants }, 400, 'validation_failed', 'participants[1].speaker')
    expect((await create({ transcript, participants: participants.slice(0, 1) })).status).toBe(201)
  })

  test('rule 6: one speaker cannot be several people', async () => {
    const participants = [
      { speaker: 1, email: 'a@example.com' },
      { speaker: 1, email: 'b@example.com' },
    ]
    await refused({ participants }, 400, 'validation_failed', 'participants[1].speaker')
  })

  test('rule 6: one person, by id or address, cannot be several speakers', async () => {
    const email = `${newId()}@example.com`
    const { participants } = await createRecording(acme.key, { participants: [{ speaker: 0, email }] })
    const [{ personId }] = participants
    for (const [one, other, member] of [
      [{ email }, { email: email.toUpperCase() }, 'email'],
      [{ personId }, { personId: personId.toUpperCase() }, 'personId'],
      [{ personId }, { email }, 'email'],
      [{ email }, { personId }, 'personId'],
    ] as const)
      await refused(
        {
          participants: [
            { speaker: 1, ...one },
            { speaker: 2, ...other },
          ],
        },
        400,
        'validation_failed',
        `participants[1].${member}`,
      )
  })

  test('rule 6: a supplied transcript is authoritative: completed by the API, with or without media', async () => {
    for (const assetUrl of [undefined, 'https://media.example.com/a.mp3']) {
      const { transcript } = await createRecording(acme.key, { assetUrl, transcript: [utterance(0, 1)] })
      expect(transcript).toEqual({ status: 'completed', source: 'api' })
    }
  })

  test('rule 7: a field of another source or organization, or an unknown one, is 422 metadata_field_not_canonical', async () => {
    const good = await createCanonicalField(acme.key)
    const elsewhere = await createField(acme.key, await createSource(acme.key))
    const foreign = await createCanonicalField(stranger.key)
    for (const fieldId of [elsewhere, foreign, newId()]) {
      const values = [
        { fieldId: good, value: 'x' },
        { fieldId, value: 'x' },
      ]
      await refused({ record: { values } }, 422, 'metadata_field_not_canonical', 'record.values[1].fieldId')
    }
  })

  test('rule 7: a value of the wrong type is 422 metadata_value_type_mismatch; a repeated field is metadata_field_duplicate', async () => {
    const fieldId = await createCanonicalField(acme.key, 'integer')
    const path = 'record.values[0].value'
    await refused(
      { record: { values: [{ fieldId, value: '5' }] } },
      422,
      'metadata_value_type_mismatch',
      path,
    )
    const twice = [
      { fieldId, value: 5 },
      { fieldId, value: 5 },
    ]
    await refused({ record: { values: twice } }, 422, 'metadata_field_duplicate', 'record.values[1].fieldId')
  })
})

describe('record', () => {
  test('rejects sourceId and ignores other unknown members', async () => {
    const sourceId = await createSource(acme.key)
    await refused({ record: { sourceId } }, 400, 'unknown_member', 'record.sourceId')
    expect((await create({ record: { note: 'x' } })).status).toBe(201)
  })

  test('the OpenAPI document refuses sourceId, too', async () => {
    const { components } = (await server.as('nobody').get('/openapi.json')).body
    const { record } = components.schemas.CreateRecordingRequest.properties
    expect(record).toMatchObject({ type: 'object', allOf: [{ properties: { sourceId: false } }] })
  })
})

describe('participants', () => {
  test('a known person is found by id or by address in any case; absent names are kept', async () => {
    const email = `${newId()}@example.com`
    const first = await createRecording(acme.key, {
      participants: [{ speaker: 0, email, firstName: 'Ada', lastName: 'Byron' }],
    })
    const [{ personId }] = first.participants
    const byAddress = await createRecording(acme.key, {
      participants: [{ speaker: 3, email: email.toUpperCase(), firstName: '  ', lastName: 'Lovelace' }],
    })
    const expected = { personId, email, firstName: 'Ada', lastName: 'Lovelace' }
    expect(byAddress.participants).toEqual([{ speaker: 3, ...expected }])
    const byId = await createRecording(acme.key, { participants: [{ speaker: 5, personId }] })
    expect(byId.participants).toEqual([{ speaker: 5, ...expected }])
  })

  test('an unknown person or one of another organization is 404 person_not_found', async () => {
    const { participants } = await createRecording(stranger.key, {
      participants: [{ speaker: 0, email: `${newId()}@example.com` }],
    })
    for (const personId of [newId(), participants[0].personId])
      await refused(
        { participants: [{ speaker: 0, personId }] },
        404,
        'person_not_found',
        'participants[0].personId',
      )
  })
})

describe('order of failures', () => {
  const bad = {
    assetUrl: 'ftp://x',
    folderIds: [newId()],
    record: { values: [{ fieldId: newId(), value: 1 }] },
  }

  test('401 before everything', async () => {
    expect((await server.as('nobody').post(RECORDINGS, bad)).status).toBe(401)
  })

  test('400 before 404 before 422 before 409', async () => {
    const externalId = newId()
    await createRecording(acme.key, { record: { externalId } })
    const record = { ...bad.record, externalId }
    await refused({ ...bad, record }, 400, 'url_not_allowed')
    await refused({ folderIds: bad.folderIds, record }, 404, 'folder_not_found')
    await refused({ record }, 422, 'metadata_field_not_canonical')
    await refused({ record: { externalId } }, 409, 'recording_external_id_exists')
  })
})
