/** Requests to join and to leave meetings: answers, errors and their order, one active recording of a meeting. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { JOINS, joinMeeting, joinRow, newMeeting, RECORDER_ENV } from '../support/meetings.ts'
import { createMemoryRecorder } from '../support/memory-recorder.ts'
import { createFolder, createRecording, RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let client: Client

beforeAll(async () => {
  server = await startTestServer({ env: RECORDER_ENV, recorder: createMemoryRecorder() })
  tenant = await server.createTenant()
  client = server.as({ userToken: tenant.userToken })
})
afterAll(() => server?.stop())

const join = (body: object, by = client) => by.post(JOINS, { type: 'meetingUrl', ...body })

describe('a meeting join', () => {
  test('answers 201 with the recording and its address', async () => {
    const { status, body, headers } = await join({ joinUrl: newMeeting() })
    expect(status).toBe(201)
    expect(body).toEqual({ id: expect.any(String), recordingId: expect.any(String), created: true })
    expect(headers.get('location')).toBe(`${RECORDINGS}/${body.recordingId}`)
    const recording = (await client.get(`${RECORDINGS}/${body.recordingId}`)).body
    expect(recording).toMatchObject({
      source: 'meeting',
      displayName: null,
      meeting: { platform: 'zoom', status: 'joining', joinedAt: null, endedAt: null },
      asset: { status: 'waiting', errorCode: null },
      transcript: { status: 'waiting', source: null, waitingFor: 'media' },
      participants: [],
    })
  })

  test('takes a name, folders, a time and the name of the bot', async () => {
    const folderId = await createFolder(client, false)
    const joinAt = new Date(Date.now() + 3_600_000).toISOString()
    const { recordingId, id } = await joinMeeting(client, {
      displayName: ' Weekly ',
      folderIds: [folderId, folderId],
      joinAt,
      botName: ' Notes of Acme ',
    })
    const { body } = await client.get(`${RECORDINGS}/${recordingId}`)
    expect(body).toMatchObject({
      displayName: 'Weekly',
      folderIds: [folderId],
      meeting: { status: 'scheduled' },
    })
    const row = await joinRow(server, id)
    expect(row).toMatchObject({ bot_name: 'Notes of Acme', join_at: new Date(joinAt) })
    // The recording is in a private folder.
    const other = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
    expect((await other.get(`${RECORDINGS}/${recordingId}`)).status).toBe(404)
  })

  test('a time in the past, or null, means at once', async () => {
    for (const joinAt of ['2020-01-01T00:00:00Z', null]) {
      const { recordingId } = await joinMeeting(client, { joinAt })
      expect((await client.get(`${RECORDINGS}/${recordingId}`)).body.meeting.status).toBe('joining')
    }
  })

  test('of a meeting that is being recorded answers 201 with that recording, whatever its link looks like', async () => {
    const link = newMeeting()
    const first = await joinMeeting(client, { joinUrl: link, displayName: 'First' })
    const wrapped = `https://eur02.safelinks.protection.outlook.com/?url=${encodeURIComponent(link.replace('zoom.us', 'acme.zoom.us'))}&data=05`
    const other = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
    const again = await join({ joinUrl: wrapped, displayName: 'Second' }, other)
    expect([again.status, again.body]).toEqual([201, { ...first, created: false }])
    expect(again.headers.get('location')).toBe(`${RECORDINGS}/${first.recordingId}`)
    expect((await client.get(`${RECORDINGS}/${first.recordingId}`)).body.displayName).toBe('First')
  })

  test('of another organization is another recording', async () => {
    const joinUrl = newMeeting()
    const stranger = server.as({ userToken: (await server.createTenant()).userToken })
    const [one, two] = [await joinMeeting(client, { joinUrl }), await joinMeeting(stranger, { joinUrl })]
    expect([one.created, two.created]).toEqual([true, true])
  })

  test('refuses other media until the meeting has ended', async () => {
    const { recordingId } = await joinMeeting(client)
    const upload = await client.post(
      `${RECORDINGS}/${recordingId}/uploads`,
      { fileName: 'a.wav', fileSize: 10 },
      { origin: 'http://localhost' },
    )
    expect([upload.status, upload.body.code]).toEqual([409, 'media_ingestion_active'])
    const byUrl = await client.patch(`${RECORDINGS}/${recordingId}`, { assetUrl: 'https://example.com/a' })
    expect([byUrl.status, byUrl.body.code]).toEqual([409, 'media_ingestion_active'])
  })

  test('keeps the password sealed: it is in no answer and in no table', async () => {
    const { recordingId } = await joinMeeting(client, {
      joinUrl: 'https://zoom.us/j/98765432109?pwd=VerySecret.1',
    })
    const answers = JSON.stringify([
      (await client.get(`${RECORDINGS}/${recordingId}`)).body,
      (await client.get(RECORDINGS)).body,
    ])
    expect(answers).not.toContain('VerySecret')
    const tables = await server.database.sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`
    for (const { name } of tables) {
      const rows = await server.database
        .sql`select to_jsonb(t)::text as row from ${server.database.sql(name)} t`
      expect(rows.filter(({ row }) => row.includes('VerySecret'))).toEqual([])
    }
  })
})

describe('a meeting join is refused', () => {
  test.each([
    ['another type', { type: 'calendar', joinUrl: 'https://zoom.us/j/1234567890' }, 'validation_failed'],
    ['no link', { type: 'meetingUrl' }, 'validation_failed'],
    ['a blank link', { type: 'meetingUrl', joinUrl: '  ' }, 'validation_failed'],
    [
      'a link to something else',
      { type: 'meetingUrl', joinUrl: 'https://example.com' },
      'unsupported_meeting_url',
    ],
    [
      'a Webex meeting',
      { type: 'meetingUrl', joinUrl: 'https://acme.webex.com/meet/ann' },
      'unsupported_meeting_url',
    ],
    [
      'a personal link',
      { type: 'meetingUrl', joinUrl: 'https://acme.zoom.us/my/ann' },
      'unsupported_meeting_url',
    ],
    [
      'a time without offset',
      { type: 'meetingUrl', joinUrl: 'https://zoom.us/j/1234567890', joinAt: '2026-01-01' },
      'validation_failed',
    ],
    [
      'a time in two years',
      { type: 'meetingUrl', joinUrl: 'https://zoom.us/j/1234567890', joinAt: '2100-01-01T00:00:00Z' },
      'validation_failed',
    ],
    [
      'a blank name of the bot',
      { type: 'meetingUrl', joinUrl: 'https://zoom.us/j/1234567890', botName: ' ' },
      'validation_failed',
    ],
    [
      'a long name of the bot',
      { type: 'meetingUrl', joinUrl: 'https://zoom.us/j/1234567890', botName: 'x'.repeat(101) },
      'validation_failed',
    ],
  ])('for %s: 400', async (_, body, code) => {
    const answer = await client.post(JOINS, body)
    expect([answer.status, answer.body.code]).toEqual([400, code])
  })

  test('names what is wrong with a link, and does not repeat it', async () => {
    const { body } = await join({ joinUrl: 'https://zoom.us/j/12?pwd=VerySecret' })
    expect(body.message).toContain('9 to 11 digits')
    expect(body.details).toEqual([
      {
        path: 'joinUrl',
        code: 'unsupported_meeting_url',
        message: expect.stringContaining('Copy the whole link'),
      },
    ])
    expect(JSON.stringify(body)).not.toContain('VerySecret')
  })

  test('for a folder that the user cannot see: 404, and nothing is created', async () => {
    const joinUrl = newMeeting()
    const answer = await join({ joinUrl, folderIds: [crypto.randomUUID()] })
    expect([answer.status, answer.body.code]).toEqual([404, 'folder_not_found'])
    expect((await joinMeeting(client, { joinUrl })).created).toBe(true)
  })

  test('and joining it are in the audit log, each once', async () => {
    const joinUrl = newMeeting()
    const { recordingId } = await joinMeeting(client, { joinUrl })
    await joinMeeting(client, { joinUrl })
    for (let time = 0; time < 2; time++) await client.delete(`${JOINS}/${recordingId}`)
    const { data } = (await client.get(`/v3/rest/audit?objectId=${recordingId}`)).body
    expect(data.map(({ action }: { action: string }) => action)).toEqual([
      'recording.meeting_left',
      'recording.created',
    ])
  })

  test('for an API key: 403, before the body is looked at', async () => {
    const answer = await server.as({ apiKey: tenant.apiKey }).post(JOINS, {})
    expect([answer.status, answer.body.code]).toEqual([403, 'user_required'])
  })

  test('for an organization that may not record: 401, before the body is looked at', async () => {
    const silent = await server.createTenant()
    await server.as({ apiKey: silent.apiKey }).patch('/v3/rest/organization', { recordingAllowed: false })
    const by = server.as({ userToken: silent.userToken })
    for (const body of [{}, { type: 'meetingUrl', joinUrl: newMeeting() }]) {
      const answer = await by.post(JOINS, body)
      expect([answer.status, answer.body.code]).toEqual([401, 'recording_not_permitted'])
      expect(answer.headers.get('www-authenticate')).not.toBeNull()
    }
  })

  test('without a recorder: 503, for a request that is otherwise good', async () => {
    const plain = await startTestServer()
    try {
      const by = plain.as({ userToken: (await plain.createTenant()).userToken })
      const answer = await by.post(JOINS, { type: 'meetingUrl', joinUrl: newMeeting() })
      expect([answer.status, answer.body.code]).toEqual([503, 'recorder_unavailable'])
      expect((await by.post(JOINS, { type: 'meetingUrl', joinUrl: 'x' })).body.code).toBe(
        'unsupported_meeting_url',
      )
      expect((await by.get(RECORDINGS)).body.data).toEqual([])
    } finally {
      await plain.stop()
    }
  })

  test('after RATE_LIMIT_MEETING_JOINS requests of a user in a minute: 429', async () => {
    const limited = await startTestServer({
      env: { ...RECORDER_ENV, RATE_LIMIT_MEETING_JOINS: '2' },
      recorder: createMemoryRecorder(),
    })
    try {
      const { organizationId, userToken } = await limited.createTenant()
      const by = limited.as({ userToken })
      for (let count = 0; count < 2; count++) await joinMeeting(by)
      const answer = await by.post(JOINS, { type: 'meetingUrl', joinUrl: newMeeting() })
      expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited'])
      expect(Number(answer.headers.get('retry-after'))).toBeWithin(1, 61)
      expect(answer.headers.get('ratelimit-policy')).toBe('"meeting-joins";q=2;w=60')
      // Another user has a limit of its own.
      const other = await limited.createUser(organizationId)
      expect((await joinMeeting(limited.as({ userToken: other.userToken }))).created).toBe(true)
    } finally {
      await limited.stop()
    }
  })
})

describe('leaving a meeting', () => {
  test('that the recorder was not asked to join yet cancels it at once, and again changes nothing', async () => {
    const joinUrl = newMeeting()
    const { id, recordingId } = await joinMeeting(client, { joinUrl })
    const left = await client.delete(`${JOINS}/${recordingId}`)
    expect([left.status, left.body]).toEqual([
      200,
      { id, recordingId, meeting: { platform: 'zoom', status: 'ended', joinedAt: null, endedAt: null } },
    ])
    const { body } = await client.get(`${RECORDINGS}/${recordingId}`)
    expect([body.asset.status, body.asset.errorCode]).toEqual(['cancelled', null])
    expect((await client.delete(`${JOINS}/${recordingId}`)).body).toEqual(left.body)
    expect(await joinRow(server, id)).toMatchObject({ hasUrl: false, nextCheckAt: null, botId: null })
    // The meeting can be joined again.
    expect((await joinMeeting(client, { joinUrl })).created).toBe(true)
  })

  test('works for the organization key, too', async () => {
    const { recordingId } = await joinMeeting(client)
    expect((await server.as({ apiKey: tenant.apiKey }).delete(`${JOINS}/${recordingId}`)).status).toBe(200)
  })

  test('is 404 for a recording that is hidden, unknown or of no meeting', async () => {
    const folderId = await createFolder(client, false)
    const { recordingId } = await joinMeeting(client, { folderIds: [folderId] })
    const other = server.as({ userToken: (await server.createUser(tenant.organizationId)).userToken })
    const stranger = server.as({ userToken: (await server.createTenant()).userToken })
    for (const [by, id] of [
      [other, recordingId],
      [stranger, recordingId],
      [client, crypto.randomUUID()],
      [client, 'nothing'],
    ] as const) {
      const answer = await by.delete(`${JOINS}/${id}`)
      expect([answer.status, answer.body.code]).toEqual([404, 'recording_not_found'])
    }
    const { id } = await createRecording(client)
    const answer = await client.delete(`${JOINS}/${id}`)
    expect([answer.status, answer.body.code]).toEqual([404, 'meeting_join_not_found'])
  })
})

test('100 requests for one meeting, sent at once to two processes, make one recording', async () => {
  const second = await startTestServer({
    env: RECORDER_ENV,
    recorder: createMemoryRecorder(),
    beside: server,
  })
  try {
    const joinUrl = newMeeting()
    const users = [client, second.as({ userToken: tenant.userToken })]
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => join({ joinUrl }, users[index % 2] as Client)),
    )
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    expect(new Set(answers.map(({ body }) => body.recordingId)).size).toBe(1)
    expect(answers.filter(({ body }) => body.created)).toHaveLength(1)
    const [row] = await server.database.sql<{ count: number }[]>`
      select count(*) as count from recording where id = ${answers[0]?.body.recordingId}`
    expect(row?.count).toBe(1)
  } finally {
    await second.stop()
  }
})
