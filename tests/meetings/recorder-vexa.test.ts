/** What only Vexa has: plans that carry the join, one bot per meeting and account, bots addressed by the link, and media with the key. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { BotReport, Recorder } from '../../src/calls/meetings/recorder.ts'
import { vexaNudge } from '../../src/calls/meetings/recorders/nudges.ts'
import { mediaOf, reportOf, utterancesOf } from '../../src/calls/meetings/recorders/vexa.rules.ts'
import { driverOf, errorOf, joinRequest, signal } from '../support/recorders/drivers.ts'
import { RECORDING } from '../support/recorders/fake.ts'
import { answerWith, loseAnswer } from '../support/recorders/server.ts'
import { type FakeVexa, startVexa } from '../support/recorders/vexa.ts'

describe('states of Vexa', () => {
  type Meeting = Parameters<typeof reportOf>[0]
  const meeting = (status: string, changed: Partial<Meeting> = {}) => reportOf({ id: 1, status, ...changed })
  const recordings = [{ id: 5, media_files: [{ type: 'audio', format: 'webm' }] }]

  const STATES: Readonly<Record<string, BotReport['state']>> = {
    idle: 'joining',
    scheduled: 'scheduled',
    requested: 'joining',
    joining: 'joining',
    awaiting_admission: 'waiting_room',
    needs_help: 'waiting_room',
    needs_human_help: 'waiting_room',
    active: 'recording',
    stopping: 'processing',
    completed: 'ended',
    failed: 'failed',
  }
  for (const [status, expected] of Object.entries(STATES))
    test(`${status} is ${expected}`, () => expect(meeting(status).state).toBe(expected))

  test('a status of a newer version is joining before the bot has joined, and recording after', () => {
    expect(meeting('levitating').state).toBe('joining')
    expect(meeting('toString').state).toBe('joining')
    expect(meeting('levitating', { start_time: '2026-11-22T10:00:00Z' }).state).toBe('recording')
  })

  const FAILED = {
    awaiting_admission_timeout: 'waiting_room_timeout',
    awaiting_admission_rejected: 'recorder_failed',
    validation_error: 'recorder_failed',
    evicted: 'recorder_failed',
    max_bot_time_exceeded: 'recorder_failed',
    join_failure: 'recorder_failed',
    auth_session_missing: 'recorder_failed',
    a_reason_of_a_newer_version: 'recorder_failed',
  } as const
  for (const [completion_reason, code] of Object.entries(FAILED))
    test(`failed with ${completion_reason} is ${code}, unless something was recorded`, () => {
      for (const place of [{ completion_reason }, { data: { completion_reason } }])
        expect(meeting('failed', place)).toEqual({
          state: 'failed',
          code,
          detail: `Vexa reports ${completion_reason}.`,
        })
      expect(meeting('failed', { completion_reason, data: { recordings } })).toEqual({
        state: 'ended',
        hasMedia: true,
      })
    })

  for (const completion_reason of [
    'stopped',
    'stopped_before_admission',
    'stopped_with_no_audio',
    'left_alone',
    'startup_alone',
  ])
    test(`failed with ${completion_reason} is no failure`, () => {
      expect(meeting('failed', { completion_reason })).toEqual({ state: 'ended', hasMedia: false })
    })

  test('completed has media if a recording has a file', () => {
    expect(meeting('completed', { data: { recordings } })).toEqual({ state: 'ended', hasMedia: true })
    for (const data of [null, {}, { recordings: null }, { recordings: [] }, { recordings: [{ id: 5 }] }])
      expect(meeting('completed', { data })).toEqual({ state: 'ended', hasMedia: false })
  })

  test('sound comes before video, and the last recording before the first', () => {
    const files = (...types: string[]) => types.map((type) => ({ type, format: 'webm' }))
    const found = (...all: { id: number; media_files: { type: string; format: string }[] }[]) =>
      mediaOf({ id: 1, status: 'completed', data: { recordings: all } })
    expect(
      found({ id: 1, media_files: files('audio') }, { id: 2, media_files: files('video', 'audio') }),
    ).toEqual({
      recordingId: 2,
      type: 'audio',
      contentType: 'audio/webm',
    })
    expect(found({ id: 1, media_files: files('video') })).toMatchObject({
      type: 'video',
      contentType: 'video/webm',
    })
    expect(found({ id: 1, media_files: [{ type: 'audio', format: 'wav' }] })).toMatchObject({
      contentType: 'audio/wav',
    })
    expect(found({ id: 1, media_files: files('signal') })).toBeNull()
  })

  test('drafts, chat messages and empty texts are no utterances', () => {
    const segments = [
      { start: -1, end: 2, text: ' first ', speaker: ' ', completed: null },
      { start: 5, end: 4, text: 'turned round', speaker: 'Ada', completed: true },
      { start: 3, end: 4, text: 'draft', speaker: 'Ada', completed: false },
      { start: 3, end: 4, text: 'typed', speaker: 'Ada', completed: true, source: 'chat' },
      { start: 3, end: 4, text: '  ', speaker: 'Ada' },
    ]
    expect(utterancesOf({ segments })).toEqual([
      { speaker: null, startSec: 0, endSec: 2, text: 'first' },
      { speaker: 'Ada', startSec: 5, endSec: 5, text: 'turned round' },
    ])
  })
})

describe('requests to Vexa', () => {
  let fake: FakeVexa
  let driver: Recorder
  beforeEach(() => {
    fake = startVexa()
    driver = driverOf('vexa', fake)
  })
  afterEach(() => fake[Symbol.dispose]())

  const calls = () =>
    fake.server.exchanges.flatMap(({ method, path }) => (method === 'GET' ? [] : [`${method} ${path}`]))

  test('a join is a plan with its title, and then a bot that takes the plan over', async () => {
    const request = joinRequest()
    const { botId } = await driver.join(request, signal)
    expect(calls()).toEqual(['POST /meetings', 'POST /bots'])
    expect(fake.server.exchanges.find(({ path }) => path === '/meetings')?.body).toEqual({
      title: `Earshot ${request.joinId}`,
      meeting_url: request.meetingUrl,
      auto_join: false,
    })
    expect(fake.botIds()).toEqual([botId])
  })

  test('a later join is a plan alone: Vexa sends the bot', async () => {
    const joinAt = new Date(Date.now() + 3_600_000)
    await driver.join(joinRequest({ joinAt }), signal)
    expect(calls()).toEqual(['POST /meetings'])
    expect(fake.server.exchanges.at(-1)?.body).toMatchObject({
      scheduled_at: joinAt.toISOString(),
      auto_join: true,
    })
  })

  test('a plan whose answer was lost gets its bot', async () => {
    const request = joinRequest()
    fake.server.disturb(/^POST \/meetings$/, loseAnswer)
    await errorOf(driverOf('vexa', fake, { deadlineMs: 300 }).join(request, signal))
    const { botId } = await driver.join(request, signal)
    expect(fake.botIds()).toEqual([botId])
    expect(await driver.status(botId, signal)).toMatchObject({ state: 'joining' })
    expect(calls()).toEqual(['POST /meetings', 'POST /bots'])
  })

  for (const status of ['idle', 'scheduled', 'active'])
    test(`the bot of somebody else (${status}) is not taken`, async () => {
      const other = fake.add(joinRequest().meetingUrl, status, 'Weekly')
      const error = await errorOf(driver.join(joinRequest(), signal))
      expect(error).toMatchObject({ kind: 'terminal', code: 'recorder_failed' })
      expect(fake.botIds()).toEqual([String(other)])
      expect(fake.isGone(String(other))).toBe(false)
    })

  test('a bot that takes over the plan of another join is not ours', async () => {
    const request = joinRequest()
    // Between the plan and its bot, somebody replaces the plan.
    fake.server.disturb(/^POST \/bots$/, async (work) => {
      await fetch(`${fake.settings.url}/meetings/${fake.botIds()[0]}`, {
        method: 'DELETE',
        headers: { 'x-api-key': fake.settings.apiKey },
      })
      fake.add(request.meetingUrl, 'idle', 'Earshot of another')
      return work()
    })
    const error = await errorOf(driver.join(request, signal))
    expect(error).toMatchObject({ kind: 'terminal' })
    expect(await driver.find(request, signal)).toBeNull()
  })

  test('a plan that was left without a bot keeps nobody from the meeting for long', async () => {
    const url = joinRequest().meetingUrl
    const stale = fake.add(url, 'idle', 'Earshot old', new Date(Date.now() - 2 * 3_600_000))
    const { botId } = await driver.join(joinRequest(), signal)
    expect(botId).not.toBe(String(stale))
    expect(fake.isGone(String(stale))).toBe(true)
  })

  test('a plan goes with a bot that is refused for good, and stays for one that may come later', async () => {
    fake.server.disturb(/^POST \/bots$/, answerWith('{"detail":"not allowed"}', { status: 403 }))
    const refused = await errorOf(driver.join(joinRequest(), signal))
    expect(refused).toMatchObject({ kind: 'terminal' })
    expect(fake.botIds().map((botId) => fake.isGone(botId))).toEqual([true])
    fake.server.disturb(/^POST \/bots$/, answerWith('{"detail":"limit"}', { status: 429 }))
    const busy = await errorOf(driver.join(joinRequest(), signal))
    expect(busy).toMatchObject({ kind: 'retryable' })
    expect(fake.botIds().map((botId) => fake.isGone(botId))).toEqual([true, false])
  })

  test('a plan without a bot can be cancelled, and the meeting is free again', async () => {
    const request = joinRequest()
    fake.server.disturb(/^POST \/bots$/, answerWith('{"detail":"limit"}', { status: 429 }))
    await errorOf(driver.join(request, signal))
    const found = await driver.find(request, signal)
    await driver.leave(found?.botId ?? '', signal)
    expect(await driver.status(found?.botId ?? '', signal)).toEqual({ state: 'ended', hasMedia: false })
    const { botId } = await driver.join(joinRequest(), signal)
    expect(botId).not.toBe(found?.botId ?? '')
  })

  test('without a speech recogniser it records all the same', async () => {
    fake.withoutTranscription()
    const { botId } = await driver.join(joinRequest(), signal)
    expect(fake.server.exchanges.at(-1)?.body).toMatchObject({
      transcribe_enabled: false,
      recording_enabled: true,
    })
    expect(await driver.status(botId, signal)).toMatchObject({ state: 'joining' })
  })

  test('an older version is named', async () => {
    fake.server.disturb(/^POST \/meetings$/, answerWith('{"detail":"Method Not Allowed"}', { status: 405 }))
    const error = await errorOf(driver.join(joinRequest(), signal))
    expect(error).toMatchObject({ kind: 'terminal', message: expect.stringContaining('0.12') })
  })

  test('a bot that has left does not make the next bot of the same meeting leave', async () => {
    const first = await driver.join(joinRequest(), signal)
    fake.move(first.botId, 'ended')
    const second = await driver.join(joinRequest(), signal)
    await driver.leave(first.botId, signal)
    expect(fake.isGone(second.botId)).toBe(false)
    await driver.leave(second.botId, signal)
    expect(fake.isGone(second.botId)).toBe(true)
  })

  test('a transcript is that of the bot, not of a later one of the same meeting', async () => {
    const first = await driver.join(joinRequest(), signal)
    fake.speak(first.botId, [{ speaker: 'Ada', start: 0, end: 1, text: 'first' }])
    fake.move(first.botId, 'ended')
    const second = await driver.join(joinRequest(), signal)
    fake.speak(second.botId, [{ speaker: 'Ada', start: 0, end: 1, text: 'second' }])
    expect(await driver.transcript(first.botId, signal)).toMatchObject([{ text: 'first' }])
  })

  test('media needs the key, and comes in parts', async () => {
    const { botId } = await driver.join(joinRequest(), signal)
    fake.move(botId, 'ended')
    const media = await driver.media(botId, signal)
    expect(media).toMatchObject({ contentType: 'audio/wav', headers: { 'x-api-key': fake.settings.apiKey } })
    expect((await fetch(media?.url ?? '')).status).toBe(401)
    const part = await fetch(media?.url ?? '', { headers: { ...media?.headers, range: 'bytes=4-12' } })
    expect(part.status).toBe(206)
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(RECORDING.slice(4, 13))
  })

  test('the key goes to no other server', async () => {
    const { botId } = await driver.join(joinRequest(), signal)
    fake.move(botId, 'ended')
    for (const raw_url of ['https://evil.test/x', '//evil.test/x', '@evil.test/', '/recordings/../x', null]) {
      fake.server.disturb(/\/master$/, () => Response.json({ raw_url }))
      expect(await driver.media(botId, signal)).toBeNull()
    }
  })

  test('a join is found behind hundreds of newer meetings, and a long list has an end', async () => {
    const request = joinRequest()
    const { botId } = await driver.join(request, signal)
    for (let index = 0; index < 250; index++)
      fake.add(`https://zoom.us/j/${20_000_000_000 + index}`, 'completed', null)
    expect(await driver.find(request, signal)).toEqual({ botId })
    for (let index = 0; index < 150; index++)
      fake.add(`https://zoom.us/j/${30_000_000_000 + index}`, 'completed', null)
    const before = fake.server.exchanges.length
    expect(await driver.find(request, signal)).toBeNull()
    expect(fake.server.exchanges.length - before).toBe(3)
  })
})

describe('webhooks of Vexa', () => {
  test('a signature as meeting_api/webhooks/delivery.py makes it', () => {
    const verify = vexaNudge('whsec-vexa', () => new Date(1_787_000_100_000))
    const headers = new Headers({
      authorization: 'Bearer whsec-vexa',
      'x-webhook-timestamp': '1787000000',
      'x-webhook-signature': 'sha256=458ac736081ea5863d9617399d639411fc03694e151cad6ac1f5223d427eb4ae',
    })
    const body = new TextEncoder().encode(
      String.raw`{"event_id": "evt_0123456789abcdef0123456789abcdef", "event_type": "meeting.status_change", "api_version": "2026-03-01", "created_at": "2026-08-17T21:33:20Z", "data": {"meeting": {"id": 42, "platform": "google_meet", "status": "active", "data": {"title": "Gro\u00df"}}, "status_change": {"old_status": "joining", "new_status": "active"}}}`,
    )
    expect(verify(headers, body)).toEqual({ botId: '42' })
    expect(vexaNudge('whsec-vexa', () => new Date(1_787_000_301_000))(headers, body)).toBeNull()
    headers.set('x-webhook-timestamp', '1787000050')
    expect(verify(headers, body)).toBeNull()
  })

  test('the secret alone, which Vexa sends as a bearer token, is no signature', async () => {
    using fake = startVexa()
    const driver = driverOf('vexa', fake)
    const { botId } = await driver.join(joinRequest(), signal)
    const { headers, body } = fake.webhook(botId)
    headers.delete('x-webhook-signature')
    expect(driver.verifyNudge(headers, body)).toBeNull()
  })
})
