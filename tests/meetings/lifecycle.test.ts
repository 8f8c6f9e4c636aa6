/** A meeting from the join to the deletion of the recorder's copy, with real workers and a recorder in this process. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createRuntime, type Runtime } from '../../src/actors/runtime.ts'
import { RecorderError } from '../../src/calls/meetings/recorder.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { sha256, wav } from '../support/media.ts'
import {
  age,
  hasten,
  JOINS,
  joinMeeting,
  joinRow,
  newMeeting,
  RECORDER_ENV,
  startChecks,
} from '../support/meetings.ts'
import { createMemoryRecorder, type MemoryRecorder } from '../support/memory-recorder.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { type Client, startTestServer, type TestServer, type TestTenant } from '../support/server.ts'

const SOUND = wav(3)

let server: TestServer
let recorder: MemoryRecorder
let tenant: TestTenant
let client: Client
let runtime: Runtime
let checks: ReturnType<typeof startChecks>
/** Serves the media for whoever has the key. */
let origin: ReturnType<typeof Bun.serve>
let served: { refusals: number; requests: number }

beforeAll(async () => {
  recorder = createMemoryRecorder()
  const env = { ...RECORDER_ENV, OUTBOUND_ALLOW: '127.0.0.0/8', PUBLIC_BASE_URL: 'https://earshot.example' }
  server = await startTestServer({ env, recorder })
  runtime = createRuntime(server.deps, server.features.actors, QUICK)
  await runtime.start()
  checks = startChecks(server)
  tenant = await server.createTenant()
  client = server.as({ userToken: tenant.userToken })
  origin = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      served.requests++
      if (request.headers.get('x-key') !== 'of the recorder' || served.refusals-- > 0)
        return new Response(null, { status: 403 })
      return new Response(SOUND, { headers: { 'content-type': 'audio/wav' } })
    },
  })
})
afterAll(async () => {
  await checks?.stop()
  await runtime?.stop(5_000)
  await origin?.stop(true)
  await server?.stop()
})
beforeEach(() => {
  recorder.before = () => {}
  recorder.after = () => {}
  served = { refusals: 0, requests: 0 }
})

const recording = async (id: string) => (await client.get(`${RECORDINGS}/${id}`)).body
const mediaHere = () => ({
  url: `http://127.0.0.1:${origin.port}/media`,
  headers: { 'x-key': 'of the recorder' },
})
const FAILED = (code: 'meeting_not_found' | 'join_timeout') =>
  ({ state: 'failed', code, detail: 'test' }) as const

async function untilStatus(id: string, recordingId: string, status: string) {
  return eventually(async () => {
    const found = await recording(recordingId)
    if (found.meeting.status === status) return found
    await hasten(server, id)
    return false
  })
}

/** Joins, and waits for the bot. */
async function joined(body: object = {}) {
  const made = await joinMeeting(client, body)
  const bot = await eventually(() => recorder.botOf(made.id))
  await eventually(async () => (await joinRow(server, made.id))?.botId === bot.id)
  return { ...made, bot }
}

describe('a meeting', () => {
  test('goes through its states, and its media, transcript and speakers become those of the recording', async () => {
    const { id, recordingId, bot } = await joined({
      joinUrl: 'https://zoom.us/j/555666777?pwd=Geheim.1&zak=KeyOfHost',
    })
    expect(bot.request).toEqual({
      joinId: id,
      meetingUrl: 'https://zoom.us/j/555666777?pwd=Geheim.1',
      platform: 'zoom',
      botName: 'Earshot',
      joinAt: null,
      nudgeUrl: 'https://earshot.example/hooks/recorder/attendee',
    })
    bot.report = { state: 'waiting_room' }
    await untilStatus(id, recordingId, 'waiting_room')
    const joinedAt = new Date('2026-01-02T09:00:00Z')
    bot.report = { state: 'recording', joinedAt }
    expect((await untilStatus(id, recordingId, 'recording')).meeting).toEqual({
      platform: 'zoom',
      status: 'recording',
      joinedAt: joinedAt.toISOString(),
      endedAt: null,
    })
    const endedAt = new Date('2026-01-02T09:30:00Z')
    bot.report = { state: 'processing', endedAt }
    const processing = await untilStatus(id, recordingId, 'processing')
    expect(processing.asset.status).toBe('waiting')
    bot.media = mediaHere()
    bot.transcript = [
      { speaker: 'Ann Lee', startSec: 0, endSec: 1, text: 'The export of the invoices failed.' },
      { speaker: null, startSec: 1, endSec: 2, text: 'Again?' },
      { speaker: 'Bo', startSec: 2, endSec: 3, text: 'I will look into it.' },
    ]
    bot.report = { state: 'ended', hasMedia: true, joinedAt, endedAt }
    await untilStatus(id, recordingId, 'ended')
    const found = await eventually(async () => {
      const now = await recording(recordingId)
      return now.asset.status === 'completed' && now
    })
    expect(found).toMatchObject({
      startedAt: joinedAt.toISOString(),
      completedAt: endedAt.toISOString(),
      meeting: { status: 'ended', endedAt: endedAt.toISOString() },
      asset: { isAudio: true, durationSeconds: 3, errorCode: null },
      transcript: { status: 'completed', source: 'automatic' },
      participants: [
        { speaker: 0, personId: null, firstName: 'Ann Lee', lastName: null, email: null },
        { speaker: 2, personId: null, firstName: 'Bo', lastName: null, email: null },
      ],
    })
    const { utterances } = (await client.get(`${RECORDINGS}/${recordingId}/transcript`)).body
    expect(utterances.map(({ speaker }: { speaker: number }) => speaker)).toEqual([0, 1, 2])
    const vtt = await client.send('GET', `${RECORDINGS}/${recordingId}/transcript`).then(() =>
      fetch(`${server.baseUrl}${RECORDINGS}/${recordingId}/transcript?format=vtt`, {
        headers: { authorization: `Bearer ${tenant.userToken}` },
      }),
    )
    expect(await vtt.text()).toContain('Ann Lee')
    const { pathname, search } = new URL(found.asset.url)
    expect(sha256(await (await fetch(`${server.baseUrl}${pathname}${search}`)).arrayBuffer())).toBe(
      sha256(SOUND),
    )
    // Our copy is complete: the recorder's goes.
    await eventually(async () => {
      await hasten(server, id)
      return bot.deleted
    })
    await eventually(async () => (await joinRow(server, id))?.nextCheckAt === null)
    expect(await joinRow(server, id)).toMatchObject({ hasUrl: false, duty: null, botId: null })
  })

  test('that has ended can be joined again, as another recording', async () => {
    const joinUrl = newMeeting()
    const { id, recordingId, bot } = await joined({ joinUrl })
    expect((await joinMeeting(client, { joinUrl })).recordingId).toBe(recordingId)
    bot.report = FAILED('meeting_not_found')
    await untilStatus(id, recordingId, 'failed')
    const again = await joinMeeting(client, { joinUrl })
    expect([again.created, again.recordingId === recordingId]).toEqual([true, false])
  })

  test('without a transcript of the recorder waits for a transcriber', async () => {
    const { id, recordingId, bot } = await joined()
    Object.assign(bot, { media: mediaHere(), report: { state: 'ended', hasMedia: true } })
    await hasten(server, id)
    const found = await eventually(async () => {
      const now = await recording(recordingId)
      return now.asset.status === 'completed' && now
    })
    expect(found.transcript).toEqual({ status: 'waiting', source: null, waitingFor: 'transcriber' })
  })

  test('keeps the copy of the recorder until the media is complete here, and asks for a new URL at each attempt', async () => {
    served.refusals = 2
    const { id, recordingId, bot } = await joined()
    const before = recorder.calls.media ?? 0
    Object.assign(bot, { media: mediaHere(), report: { state: 'ended', hasMedia: true } })
    await hasten(server, id)
    await eventually(async () => (await recording(recordingId)).asset.status === 'completed')
    expect([served.requests, (recorder.calls.media ?? 0) - before]).toEqual([3, 3])
    await eventually(async () => {
      await hasten(server, id)
      return bot.deleted
    })
  })

  test('that the recorder did not record has no media', async () => {
    const { id, recordingId, bot } = await joined()
    bot.report = { state: 'ended', hasMedia: false }
    const found = await untilStatus(id, recordingId, 'ended')
    expect(found.asset).toMatchObject({ status: 'failed', errorCode: 'media_empty' })
  })

  test('in the future is asked for shortly before, and joins at its time', async () => {
    const { id, recordingId } = await joinMeeting(client, {
      joinAt: new Date(Date.now() + 7_200_000).toISOString(),
    })
    await eventually(async () => Number((await joinRow(server, id))?.nextCheckAt) > Date.now() + 6_000_000)
    expect(() => recorder.botOf(id)).toThrow()
    await age(server, id, 7_000)
    const bot = await eventually(() => recorder.botOf(id))
    expect(bot.request.joinAt?.getTime()).toBeGreaterThan(Date.now())
    expect((await recording(recordingId)).meeting.status).toBe('scheduled')
    bot.report = { state: 'recording' }
    await untilStatus(id, recordingId, 'recording')
  })
})

describe('the recorder', () => {
  test.each(['join_timeout', 'waiting_room_timeout', 'meeting_not_found', 'recorder_failed'] as const)(
    'that reports %s fails the media with it',
    async (code) => {
      const { id, recordingId, bot } = await joined()
      bot.report = { state: 'failed', code, detail: 'test' }
      const found = await untilStatus(id, recordingId, 'failed')
      expect(found.asset).toMatchObject({ status: 'failed', errorCode: code })
      await eventually(() => bot.deleted)
    },
  )

  test('that refuses the join for good fails it at once', async () => {
    recorder.before = (operation) => {
      if (operation === 'join') throw new RecorderError('no such meeting', 'terminal', 'meeting_not_found')
    }
    const { id, recordingId } = await joinMeeting(client)
    const found = await untilStatus(id, recordingId, 'failed')
    expect(found.asset.errorCode).toBe('meeting_not_found')
    expect(await joinRow(server, id)).toMatchObject({ nextCheckAt: null, hasUrl: false })
  })

  test.each([
    ['joining', {}, 301, 'join_timeout'],
    ['waiting_room', { state: 'waiting_room' }, 1_201, 'waiting_room_timeout'],
    ['processing', { state: 'processing' }, 7_201, 'recorder_failed'],
  ] as const)(
    'whose bot stays too long in %s: it leaves, and the media fails',
    async (status, report, seconds, code) => {
      const { id, recordingId, bot } = await joined()
      if ('state' in report) bot.report = report
      await untilStatus(id, recordingId, status)
      await age(server, id, seconds)
      const found = await untilStatus(id, recordingId, 'failed')
      expect(found.asset).toMatchObject({ status: 'failed', errorCode: code })
      await eventually(() => bot.left && bot.deleted)
    },
  )

  test('whose bot records for too long makes it leave, and the recording is kept', async () => {
    const { id, recordingId, bot } = await joined()
    bot.report = { state: 'recording' }
    await untilStatus(id, recordingId, 'recording')
    await age(server, id, 28_801)
    await eventually(() => bot.left)
    Object.assign(bot, { media: mediaHere(), report: { state: 'ended', hasMedia: true } })
    await untilStatus(id, recordingId, 'ended')
    await eventually(async () => (await recording(recordingId)).asset.status === 'completed')
  })

  test('that was away for an hour is asked before anything is overdue', async () => {
    const { id, recordingId, bot } = await joined()
    bot.report = { state: 'recording' }
    await age(server, id, 3_600)
    expect((await untilStatus(id, recordingId, 'recording')).asset.status).toBe('waiting')
  })

  test('that does not answer any more fails the media when the deadline is over', async () => {
    const { id, recordingId } = await joined()
    recorder.before = () => {
      throw new RecorderError('the answer is 503', 'retryable')
    }
    await hasten(server, id)
    await eventually(async () => ((await joinRow(server, id))?.failures ?? 0) > 0)
    await age(server, id, 301)
    expect((await untilStatus(id, recordingId, 'failed')).asset.errorCode).toBe('recorder_failed')
    // The bot may be in the meeting: it leaves when the recorder is back.
    recorder.before = () => {}
    await eventually(async () => {
      await hasten(server, id)
      return recorder.botOf(id).left
    })
  })
})

describe('an answer to the join that is lost', () => {
  test('leads to the same bot', async () => {
    let lost = 0
    recorder.after = (operation) => {
      if (operation === 'join' && lost++ === 0)
        throw new RecorderError('the connection was lost', 'retryable')
    }
    const { id } = await joinMeeting(client)
    await eventually(async () => (await joinRow(server, id))?.botId !== null)
    expect(recorder.bots.filter(({ request }) => request.joinId === id)).toHaveLength(1)
    expect((await joinRow(server, id))?.joinSentAt).not.toBeNull()
  })

  test('is looked for, and the join is repeated only when the first request can no longer arrive', async () => {
    let refused = 0
    const order: string[] = []
    recorder.before = (operation) => {
      if (operation === 'join' || operation === 'find') order.push(operation)
      if (operation === 'join' && refused++ === 0)
        throw new RecorderError('the connection was lost', 'retryable')
    }
    const { id } = await joinMeeting(client)
    await eventually(() => order.includes('find'))
    expect(order.slice(0, 2)).toEqual(['join', 'find'])
    await eventually(async () => (await joinRow(server, id))?.botId !== null)
    const row = await joinRow(server, id)
    expect(row?.failures).toBe(0)
    expect(recorder.bots.filter(({ request }) => request.joinId === id)).toHaveLength(1)
  })

  test('of a recorder that hangs is given up after RECORDER_TIMEOUT', async () => {
    let hung = 0
    recorder.before = (operation, signal) => {
      if (operation !== 'join' || hung++ > 0) return
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    const { id } = await joinMeeting(client)
    await eventually(async () => (await joinRow(server, id))?.failures === 1)
    await eventually(async () => (await joinRow(server, id))?.botId !== null)
  })
})

describe('leaving', () => {
  test('makes the bot leave, and what it recorded is kept', async () => {
    const { id, recordingId, bot } = await joined()
    bot.report = { state: 'recording' }
    await untilStatus(id, recordingId, 'recording')
    expect((await client.delete(`${JOINS}/${recordingId}`)).status).toBe(200)
    await eventually(() => bot.left)
    expect((await untilStatus(id, recordingId, 'processing')).asset.status).toBe('waiting')
    Object.assign(bot, { media: mediaHere(), report: { state: 'ended', hasMedia: true } })
    await untilStatus(id, recordingId, 'ended')
    await eventually(async () => (await recording(recordingId)).asset.status === 'completed')
    expect((await client.delete(`${JOINS}/${recordingId}`)).body.meeting.status).toBe('ended')
  })

  test('of a bot that was never let in cancels the media', async () => {
    const { id, recordingId, bot } = await joined()
    await client.delete(`${JOINS}/${recordingId}`)
    await eventually(() => bot.left)
    bot.report = { state: 'failed', code: 'recorder_failed', detail: 'unknown' }
    const found = await untilStatus(id, recordingId, 'ended')
    expect(found.asset).toMatchObject({ status: 'cancelled', errorCode: null })
  })

  test('while the join is under way reaches the bot, too', async () => {
    const proceed = Promise.withResolvers<void>()
    recorder.after = (operation) => (operation === 'join' ? proceed.promise : undefined)
    const { id, recordingId } = await joinMeeting(client)
    const bot = await eventually(() => recorder.botOf(id))
    expect((await client.delete(`${JOINS}/${recordingId}`)).body.meeting.status).toBe('joining')
    proceed.resolve()
    await eventually(() => bot.left)
  })

  test('happens when the recording is deleted; the recorder’s copy goes, and so does the row in the end', async () => {
    const joinUrl = newMeeting()
    const { id, recordingId, bot } = await joined({ joinUrl })
    bot.report = { state: 'recording' }
    await untilStatus(id, recordingId, 'recording')
    expect((await client.delete(`${RECORDINGS}/${recordingId}`)).status).toBe(204)
    await eventually(() => bot.left && bot.deleted)
    // The meeting is free at once.
    expect((await joinMeeting(client, { joinUrl })).created).toBe(true)
    await eventually(async () => (await joinRow(server, id))?.nextCheckAt === null)
    const task = server.features.maintenance.find(({ name }) => name === 'meeting_discarded')
    await task?.run(new AbortController().signal)
    expect(await joinRow(server, id)).toBeUndefined()
  })
})

describe('a webhook', () => {
  const hook = (body: object | string, signature = 'good', name = 'attendee') =>
    fetch(`${server.baseUrl}/hooks/recorder/${name}`, {
      method: 'POST',
      headers: { 'x-signature': signature, 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  /** No check is due for a while. */
  async function quiet(id: string) {
    await eventually(async () => {
      await server.database
        .sql`update meeting_join set next_check_at = now() + interval '1 hour' where id = ${id}`
      const waiting = await server.database.sql`select 1 from actor_message where key = ${`meeting:${id}`}`
      return waiting.count === 0
    })
    await server.database
      .sql`update meeting_join set next_check_at = now() + interval '1 hour' where id = ${id}`
  }

  test('by the id of the bot or of the join makes the recorder be asked at once', async () => {
    for (const by of ['botId', 'joinId'] as const) {
      const { id, recordingId, bot } = await joined()
      await quiet(id)
      bot.report = { state: 'recording' }
      expect((await hook(by === 'botId' ? { botId: bot.id } : { joinId: id })).status).toBe(204)
      await eventually(async () => (await recording(recordingId)).meeting.status === 'recording')
    }
  })

  test('that arrives while a check asks the recorder leads to another check, and only to one', async () => {
    const { id, recordingId, bot } = await joined()
    await quiet(id)
    const messages = () => server.database.sql`select 1 from actor_message where key = ${`meeting:${id}`}`
    const during: number[] = []
    recorder.after = async (operation) => {
      if (operation !== 'status' || during.length > 0) return
      // The recorder has answered, and what it says changes before the answer is here.
      bot.report = { state: 'recording' }
      for (let times = 0; times < 3; times++) {
        expect((await hook({ botId: bot.id })).status).toBe(204)
        during.push((await messages()).count)
      }
    }
    expect((await hook({ botId: bot.id })).status).toBe(204)
    await eventually(async () => (await recording(recordingId)).meeting.status === 'recording')
    expect(during).toEqual([2, 2, 2])
  })

  test('that is forged, malformed, for another recorder or too large changes nothing', async () => {
    const { id, bot } = await joined()
    await quiet(id)
    expect((await hook({ botId: bot.id }, 'bad')).status).toBe(401)
    expect((await hook('{')).status).toBe(401)
    expect((await hook({ botId: bot.id }, 'good', 'vexa')).status).toBe(404)
    expect((await hook({ botId: bot.id, pad: 'x'.repeat(300_000) })).status).toBe(400)
    expect((await fetch(`${server.baseUrl}/hooks/recorder/attendee`)).status).toBe(405)
    const messages = await server.database.sql`select 1 from actor_message where key = ${`meeting:${id}`}`
    expect(messages.count).toBe(0)
  })

  test('about a bot that is unknown or done is accepted and changes nothing', async () => {
    expect((await hook({ botId: 'bot_unknown' })).status).toBe(204)
    expect((await hook({ joinId: 'not an id' })).status).toBe(204)
    expect((await hook({})).status).toBe(204)
  })

  test('that comes twice, late or early leads to the same end', async () => {
    const { id, recordingId, bot } = await joined()
    bot.report = { state: 'recording' }
    await Promise.all(Array.from({ length: 20 }, () => hook({ botId: bot.id })))
    await eventually(async () => (await recording(recordingId)).meeting.status === 'recording')
    Object.assign(bot, { media: mediaHere(), report: { state: 'ended', hasMedia: true } })
    await Promise.all(Array.from({ length: 20 }, () => hook({ joinId: id })))
    await eventually(async () => (await recording(recordingId)).asset.status === 'completed')
    await eventually(async () => {
      await hasten(server, id)
      return bot.deleted
    })
    expect((await hook({ joinId: id })).status).toBe(204)
    expect((await recording(recordingId)).meeting.status).toBe('ended')
    const letters = await server.database.sql`select 1 from actor_dead_letter`
    expect(letters.count).toBe(0)
  })
})

test('metrics count the states', async () => {
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
  expect(metrics).toMatch(/earshot_meeting_joins_total\{platform="zoom",status="recording",code="none"\} \d+/)
  expect(metrics).toMatch(
    /earshot_meeting_joins_total\{platform="zoom",status="failed",code="join_timeout"\} \d+/,
  )
})
