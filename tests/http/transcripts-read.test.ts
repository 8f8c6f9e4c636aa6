/** Reading transcripts over HTTP: types, formats, and who sees them (specification, "Transcript"). */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newId } from '../../src/platform/ids.ts'
import { createFolder, createRecording, RECORDINGS, utterance } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

let server: TestServer
let tenant: TestTenant
let client: Client

beforeAll(async () => {
  server = await startTestServer()
  tenant = await server.createTenant()
  client = server.as({ apiKey: tenant.apiKey })
})
afterAll(() => server?.stop())

const pathOf = (id: string) => `${RECORDINGS}/${id}/transcript`

async function recordingOf(transcript: unknown): Promise<string> {
  return (await createRecording(client, { transcript })).id
}

async function textOf(id: string, search: string, accept = '*/*') {
  const response = await fetch(`${server.baseUrl}${pathOf(id)}${search}`, {
    headers: { 'x-service-api-key': tenant.apiKey, accept },
  })
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    vary: response.headers.get('vary'),
    text: await response.text(),
  }
}

const CONVERSATION = [
  { startSec: 0, endSec: 1.25, speaker: 0, text: 'Good morning.' },
  { startSec: 1.25, endSec: 2, speaker: 0, text: 'How are you?' },
  { startSec: 1.5, endSec: 4, speaker: 1, text: 'Fine & <well>.' },
  { startSec: 4, endSec: 5, speaker: 0, text: 'Good.' },
]

describe('type', () => {
  test('utterance is the default: exactly type, recordingId and the entries in stored order', async () => {
    const id = await recordingOf(CONVERSATION)
    const expected = {
      type: 'utterance',
      recordingId: id,
      utterances: CONVERSATION.map((entry) => ({ recordingId: id, ...entry })),
    }
    for (const search of ['', '?type=utterance']) {
      const { status, body } = await client.get(`${pathOf(id)}${search}`)
      expect(status).toBe(200)
      expect(body).toStrictEqual(expected)
    }
  })

  test('times and speakers are exact, however small or large', async () => {
    const extreme = [
      { startSec: 5e-324, endSec: 0.1, speaker: Number.MAX_SAFE_INTEGER, text: 'a' },
      { startSec: 1e21, endSec: Number.MAX_VALUE, speaker: 0, text: 'b' },
    ]
    const { body } = await client.get(pathOf(await recordingOf(extreme)))
    expect(body.utterances).toMatchObject(extreme)
  })

  test('monologue combines contiguous entries of one speaker', async () => {
    const id = await recordingOf(CONVERSATION)
    const { status, body } = await client.get(`${pathOf(id)}?type=monologue`)
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      type: 'monologue',
      recordingId: id,
      monologues: [
        { recordingId: id, startSec: 0, endSec: 2, speaker: 0, text: 'Good morning. How are you?' },
        { recordingId: id, startSec: 1.5, endSec: 4, speaker: 1, text: 'Fine & <well>.' },
        { recordingId: id, startSec: 4, endSec: 5, speaker: 0, text: 'Good.' },
      ],
    })
  })

  test.each(['', 'Utterance', 'words', 'utterance,monologue'])(
    'another type, such as "%s", is 400 unsupported_transcript_type',
    async (type) => {
      const { status, body } = await client.get(`${pathOf(await recordingOf([]))}?type=${type}`)
      expect([status, body.code]).toEqual([400, 'unsupported_transcript_type'])
    },
  )

  test.each(['?type=utterance&type=monologue', '?format=pdf', '?colour=red'])('%s is 400', async (search) => {
    const { status } = await client.get(`${pathOf(await recordingOf([]))}${search}`)
    expect(status).toBe(400)
  })
})

describe('a known recording is always 200', () => {
  test('with no entries while there is no transcript', async () => {
    const { id, transcript } = await createRecording(client)
    expect(transcript).toEqual({ status: 'waiting', source: null, waitingFor: 'media' })
    expect((await client.get(pathOf(id))).body).toEqual({
      type: 'utterance',
      recordingId: id,
      utterances: [],
    })
    const monologues = await client.get(`${pathOf(id)}?type=monologue`)
    expect(monologues.body).toEqual({ type: 'monologue', recordingId: id, monologues: [] })
    expect((await textOf(id, '?format=vtt')).text).toBe('WEBVTT\n')
  })

  test('with the utterances of a supplied transcript, also of an empty one', async () => {
    const id = await recordingOf({ utterances: CONVERSATION })
    expect((await client.get(pathOf(id))).body.utterances).toHaveLength(CONVERSATION.length)
    const { id: empty, transcript } = await createRecording(client, { transcript: [] })
    expect(transcript).toEqual({ status: 'completed', source: 'api' })
    expect((await client.get(pathOf(empty))).body.utterances).toEqual([])
  })
})

describe('a supplied transcript comes back unchanged', () => {
  test.each([
    ['tabs, newlines and carriage returns', 'a\tb\nc\r\nd'],
    ['backslashes', '\\N \\\\ \\. \\t {"a\\"b"} \\'],
    ['quotes, braces and commas', `{"a","b"} 'c' "" , {}`],
    ['the word NULL', 'NULL'],
    ['blanks around', '  a  '],
    ['other scripts and symbols', 'Grüße 你好 مرحبا 🎧👩‍💻'],
    ['line separators and control characters', 'a\u2028b\u2029c\u0001d\u007fe\u0085f'],
    ['what looks like SQL or markup', `'); drop table recording; -- <script> --> &amp;`],
  ])('%s', async (_, text) => {
    const id = await recordingOf([utterance(0, 1, 0, text)])
    expect((await client.get(pathOf(id))).body.utterances[0].text).toBe(text)
  })

  test('times and speakers of any size and precision', async () => {
    const numbers = [0, 5e-324, 1e-7, 0.1, 1 / 3, 123456.789, 2 ** 53 + 2, 1e21, Number.MAX_VALUE]
    const entries = numbers.map((number, index) => ({
      startSec: number,
      endSec: number,
      speaker: Number.MAX_SAFE_INTEGER - index,
      text: 'a',
    }))
    const id = await recordingOf(entries)
    const { body } = await client.get(pathOf(id))
    expect(body.utterances).toEqual(entries.map((entry) => ({ recordingId: id, ...entry })))
  })

  test('10,000 utterances with 2,000,000 characters', async () => {
    const text = 'ü'.repeat(199)
    const entries = Array.from({ length: 10_000 }, (_, index) =>
      utterance(index, index + 1, index % 7, `${text}${index % 10}`),
    )
    const id = await recordingOf(entries)
    const { body } = await client.get(pathOf(id))
    expect(body.utterances).toEqual(entries.map((entry) => ({ recordingId: id, ...entry })))
  }, 300_000)
})

describe('exceeding a limit is 400 with a stable code, the limit and the actual number', () => {
  const many = (count: number, text: string) =>
    Array.from({ length: count }, (_, index) => utterance(index, index + 1, 0, text))

  test.each([
    ['transcript_utterance_limit_exceeded', many(10_001, 'a'), { limit: 10_000, actual: 10_001 }],
    [
      'transcript_text_limit_exceeded',
      many(101, 'a'.repeat(20_000)),
      { limit: 2_000_000, actual: 2_020_000 },
    ],
    [
      'transcript_utterance_text_limit_exceeded',
      [...many(2, 'a'), utterance(3, 4, 0, 'a'.repeat(20_001))],
      { limit: 20_000, actual: 20_001, index: 2 },
    ],
  ])('%s', async (code, transcript, extra) => {
    const { status, body } = await client.post(RECORDINGS, { transcript })
    expect(status).toBe(400)
    expect(body).toMatchObject({ code, ...extra })
  })

  test('an error names its place', async () => {
    const { status, body } = await client.post(RECORDINGS, { transcript: [utterance(0, 1), utterance(3, 2)] })
    expect([status, body.code]).toEqual([400, 'validation_failed'])
    expect(body.details).toEqual([
      { path: 'transcript[1].endSec', code: 'range', message: 'must be >= startSec' },
    ])
  })
})

describe('formats', () => {
  const VTT = 'text/vtt; charset=utf-8'

  test.each([
    ['text/vtt', VTT, /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.250\n<v Speaker 0>Good morning\.<\/v>\n/],
    [
      'application/x-subrip',
      'application/x-subrip; charset=utf-8',
      /^1\n00:00:00,000 --> 00:00:01,250\nSpeaker 0: Good/,
    ],
    ['text/plain', 'text/plain; charset=utf-8', /^\[00:00:00\] Speaker 0: Good morning\.\n/],
    ['application/json', 'application/json', /^\{"type":"utterance"/],
    ['image/png', 'application/json', /^\{"type":"utterance"/],
  ])('Accept: %s', async (accept, type, text) => {
    const answer = await textOf(await recordingOf(CONVERSATION), '', accept)
    expect(answer).toMatchObject({ status: 200, type, vary: expect.stringMatching(/accept/i) })
    expect(answer.text).toMatch(text)
  })

  test('format takes precedence over Accept and combines with type', async () => {
    const id = await recordingOf(CONVERSATION)
    const answer = await textOf(id, '?format=vtt&type=monologue', 'application/json')
    expect(answer.type).toBe(VTT)
    expect(answer.text.match(/-->/g)).toHaveLength(3)
    expect(answer.text).toContain('<v Speaker 1>Fine &amp; &lt;well&gt;.</v>')
    expect((await textOf(id, '?format=json', 'text/vtt')).type).toBe('application/json')
    expect((await textOf(id, '?format=srt')).text).toStartWith('1\n')
    expect((await textOf(id, '?format=txt')).text).toStartWith('[00:00:00] ')
  })

  test('subtitles and text use the participant name for a speaker', async () => {
    const { id } = await createRecording(client, {
      transcript: CONVERSATION,
      participants: [{ speaker: 1, email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' }],
    })
    expect((await textOf(id, '?format=vtt')).text).toContain('<v Ada Lovelace>Fine')
    expect((await textOf(id, '?format=srt')).text).toContain('\nAda Lovelace: Fine')
    expect((await textOf(id, '?format=txt')).text).toContain('] Ada Lovelace: Fine')
    expect((await textOf(id, '?format=txt')).text).toContain('] Speaker 0: Good.')
  })

  test('an error is JSON whatever format was requested', async () => {
    const { status, type } = await textOf(newId(), '', 'text/vtt')
    expect([status, type]).toEqual([404, 'application/json'])
  })
})

describe('visibility', () => {
  const status = async (caller: Client, id: string, search = '') => {
    const { status, body } = await caller.get(`${pathOf(id)}${search}`)
    return status === 200 ? status : `${status} ${body.code}`
  }

  test('401 without a credential, also for an unknown recording and a wrong type', async () => {
    expect(await status(server.as('nobody'), newId(), '?type=x')).toBe('401 unauthenticated')
  })

  test('404 for an unknown or malformed id comes before 400 for a wrong type', async () => {
    expect(await status(client, newId(), '?type=x')).toBe('404 recording_not_found')
    expect(await status(client, 'not-an-id')).toBe('404 recording_not_found')
  })

  test('404 for a recording of another organization', async () => {
    const stranger = await server.createTenant()
    const id = await recordingOf(CONVERSATION)
    expect(await status(server.as({ apiKey: stranger.apiKey }), id)).toBe('404 recording_not_found')
    expect(await status(server.as({ userToken: stranger.userToken }), id)).toBe('404 recording_not_found')
  })

  test('404 for a recording in a private folder of another user', async () => {
    const owner = server.as({ userToken: tenant.userToken })
    const folderId = await createFolder(owner, false)
    const { id } = await createRecording(owner, { transcript: CONVERSATION, folderIds: [folderId] })
    const colleague = server.as(await server.createUser(tenant.organizationId))
    expect(await status(owner, id)).toBe(200)
    expect(await status(colleague, id)).toBe('404 recording_not_found')
    expect(await status(client, id)).toBe('404 recording_not_found')
  })

  test('deleting a recording deletes its transcript completely', async () => {
    const id = await recordingOf(CONVERSATION)
    expect((await client.delete(`${RECORDINGS}/${id}`)).status).toBe(204)
    expect(await status(client, id)).toBe('404 recording_not_found')
    const { sql } = server.database
    expect(await sql`select 1 from transcript_utterance where recording_id = ${id}`).toHaveLength(0)
  })
})
