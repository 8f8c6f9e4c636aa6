/** What only Recall has: a pool of bots, stored answers per idempotency key, files of short life, and two kinds of signed headers. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { BotReport, Recorder } from '../../src/calls/meetings/recorder.ts'
import { recallNudge } from '../../src/calls/meetings/recorders/nudges.ts'
import { reportOf, utterancesOf } from '../../src/calls/meetings/recorders/recall.rules.ts'
import { driverOf, errorOf, joinRequest, signal } from '../support/recorders/drivers.ts'
import { type FakeRecall, startRecall } from '../support/recorders/recall.ts'

describe('codes of Recall', () => {
  type Bot = Parameters<typeof reportOf>[0]
  const IN_CALL = ['in_call_not_recording', 'in_call_recording'] as const
  const changes = (...codes: (string | readonly [string, string])[]): Bot['status_changes'] =>
    codes.map((code, index) => ({
      code: typeof code === 'string' ? code : code[0],
      sub_code: typeof code === 'string' ? null : code[1],
      created_at: new Date(1_790_000_000_000 + index * 1_000).toISOString(),
    }))
  const bot = (status_changes: Bot['status_changes'], changed: Partial<Bot> = {}) =>
    reportOf({ id: 'b', status_changes, recordings: [], ...changed })
  const video = { status: { code: 'done' }, data: { download_url: 'https://files.test/1' } }
  const recordings = [{ media_shortcuts: { video_mixed: video } }]

  const CODES: Readonly<Record<string, BotReport['state']>> = {
    joining_call: 'joining',
    in_waiting_room: 'waiting_room',
    in_call_not_recording: 'recording',
    recording_permission_allowed: 'recording',
    recording_permission_denied: 'recording',
    in_call_recording: 'recording',
    breakout_room_entered: 'recording',
    breakout_room_left: 'recording',
    breakout_room_opened: 'recording',
    breakout_room_closed: 'recording',
    call_ended: 'processing',
    recording_done: 'processing',
    done: 'ended',
    fatal: 'failed',
  }
  for (const [code, expected] of Object.entries(CODES))
    test(`${code} is ${expected}`, () => expect(bot(changes('joining_call', code)).state).toBe(expected))

  test('a new code changes nothing', () => {
    expect(bot(changes('in_waiting_room', 'dancing')).state).toBe('waiting_room')
    expect(bot(changes(...IN_CALL, 'valueOf')).state).toBe('recording')
    expect(bot(changes('dancing')).state).toBe('joining')
  })

  test('without any code the bot waits for its time, or sets out', () => {
    expect(bot([]).state).toBe('joining')
    expect(bot([], { join_at: '2026-11-22T10:00:00Z' }).state).toBe('scheduled')
    expect(bot(changes('ready'), { join_at: '2026-11-22T10:00:00Z' }).state).toBe('scheduled')
  })

  test('codes after done do not bring the bot back', () => {
    for (const late of ['analysis_done', 'analysis_failed', 'media_expired', 'in_call_recording'])
      expect(bot(changes(...IN_CALL, 'call_ended', 'done', late)).state).toBe('ended')
  })

  const FATAL = {
    meeting_not_found: ['meeting_not_found', 'meeting_link_expired', 'meeting_link_invalid', 'meeting_ended'],
    join_timeout: [
      'meeting_not_started',
      'failed_to_launch_in_time',
      'zoom_join_timeout',
      'google_meet_meeting_room_not_ready',
      'microsoft_teams_event_not_started_for_external',
    ],
    recorder_failed: [
      'bot_errored',
      'meeting_requires_registration',
      'meeting_requires_sign_in',
      'meeting_password_incorrect',
      'meeting_locked',
      'meeting_full',
      'google_meet_bot_blocked',
      'google_meet_internal_error',
      'google_meet_sign_in_failed',
      'google_meet_permission_denied_breakout',
      'zoom_sdk_credentials_missing',
      'zoom_captcha_required',
      'zoom_email_required',
      'zoom_web_disallowed',
      'zoom_connection_failed',
      'zoom_meeting_not_accessible',
      'zoom_invalid_webinar_invite',
      'microsoft_teams_call_dropped',
      'microsoft_teams_captcha_detected',
      'microsoft_teams_2fa_required',
      'webex_join_meeting_error',
      'a_sub_code_of_a_newer_version',
    ],
  } as const
  for (const [code, subCodes] of Object.entries(FATAL))
    for (const subCode of subCodes)
      test(`fatal with ${subCode} is ${code}`, () => {
        expect(bot(changes('joining_call', ['fatal', subCode]))).toEqual({
          state: 'failed',
          code: code as keyof typeof FATAL,
          detail: `Recall reports ${subCode}.`,
        })
      })

  test('what was recorded before a fatal error is kept', () => {
    expect(bot(changes(...IN_CALL, ['fatal', 'bot_errored']), { recordings })).toMatchObject({
      state: 'ended',
      hasMedia: true,
    })
  })

  const NEVER_IN = {
    timeout_exceeded_waiting_room: 'waiting_room_timeout',
    call_ended_by_platform_waiting_room_timeout: 'waiting_room_timeout',
    bot_kicked_from_waiting_room: 'recorder_failed',
  } as const
  for (const [subCode, code] of Object.entries(NEVER_IN))
    test(`done after ${subCode} is ${code}`, () => {
      expect(bot(changes('in_waiting_room', ['call_ended', subCode], 'done'))).toMatchObject({
        state: 'failed',
        code,
      })
    })

  for (const subCode of [
    'call_ended_by_host',
    'call_ended_by_platform_idle',
    'call_ended_by_platform_max_length',
    'timeout_exceeded_noone_joined',
    'timeout_exceeded_everyone_left',
    'timeout_exceeded_silence_detected',
    'timeout_exceeded_only_bots_detected_using_participant_names',
    'timeout_exceeded_only_bots_detected_using_participant_events',
    'timeout_exceeded_in_call_not_recording',
    'timeout_exceeded_in_call_recording',
    'timeout_exceeded_recording_permission_denied',
    'timeout_exceeded_max_duration',
    'bot_kicked_from_call',
    'bot_received_leave_call',
    'a_sub_code_of_a_newer_version',
  ])
    test(`done after ${subCode} is an end, with media if there is some`, () => {
      const over = changes(...IN_CALL, ['call_ended', subCode], 'done')
      expect(bot(over, { recordings })).toMatchObject({ state: 'ended', hasMedia: true })
      expect(bot(over)).toMatchObject({ state: 'ended', hasMedia: false })
    })

  test('media that is not done, deleted or without a link is none', () => {
    const over = changes(...IN_CALL, 'call_ended', 'done')
    for (const file of [
      null,
      { status: { code: 'processing' }, data: video.data },
      { status: { code: 'deleted' }, data: video.data },
      { status: { code: 'done' }, data: { download_url: null } },
    ])
      expect(bot(over, { recordings: [{ media_shortcuts: { video_mixed: file } }] })).toMatchObject({
        hasMedia: false,
      })
    expect(bot(over, { recordings: [{ media_shortcuts: null }, ...recordings] })).toMatchObject({
      hasMedia: true,
    })
    expect(bot(over, { recordings: [{ media_shortcuts: { audio_mixed: video } }] })).toMatchObject({
      hasMedia: true,
    })
  })

  test('words are joined; words without times and without a speaker are no trouble', () => {
    expect(
      utterancesOf([
        { participant: { name: null }, words: [{ text: ' one ' }, { text: '' }, { text: 'two' }] },
        { participant: null, words: [] },
        {
          participant: { name: ' Ada ' },
          words: [{ text: 'x', start_timestamp: { relative: 2.5 }, end_timestamp: null }],
        },
      ]),
    ).toEqual([
      { speaker: null, startSec: 0, endSec: 0, text: 'one two' },
      { speaker: 'Ada', startSec: 2.5, endSec: 2.5, text: 'x' },
    ])
  })
})

describe('requests to Recall', () => {
  let fake: FakeRecall
  let driver: Recorder
  beforeEach(() => {
    fake = startRecall()
    driver = driverOf('recall', fake)
  })
  afterEach(() => fake[Symbol.dispose]())

  test('an empty pool is asked again after half a minute, and its stored refusal does not stick', async () => {
    fake.pool = 0
    const request = joinRequest()
    const error = await errorOf(driver.join(request, signal))
    expect(error).toMatchObject({ kind: 'retryable', retryAfterSeconds: 30 })
    fake.pool = 1
    // A process that knows nothing of the first refusal gets the stored one, once.
    const restarted = driverOf('recall', fake)
    expect(await errorOf(restarted.join(request, signal))).toMatchObject({ kind: 'retryable' })
    const { botId } = await restarted.join(request, signal)
    expect(fake.botIds()).toEqual([botId])
  })

  test('a request that is still on its way keeps its twin away', async () => {
    const request = joinRequest()
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    // The bot is made, but not listed yet.
    fake.server.disturb(/^POST \/api\/v1\/bot\/$/, async (work) => {
      const answer = await work()
      arrived.resolve()
      await released.promise
      return answer
    })
    const first = driver.join(request, signal)
    await arrived.promise
    fake.server.disturb(/^GET \/api\/v1\/bot\/$/, () => Response.json({ results: [] }))
    const second = await driver.join(request, signal)
    released.resolve()
    expect(await first).toEqual(second)
    expect(fake.botIds()).toEqual([second.botId])
  })

  test('a conflict is asked again later', async () => {
    fake.server.disturb(/^POST \/api\/v1\/bot\/$/, () => Response.json({ code: 'conflict' }, { status: 409 }))
    expect(await errorOf(driver.join(joinRequest(), signal))).toMatchObject({ kind: 'retryable' })
  })

  test('the join is in the metadata, and captions bring the names', async () => {
    const request = joinRequest()
    await driver.join(request, signal)
    expect(fake.server.exchanges.at(-1)?.body).toEqual({
      meeting_url: request.meetingUrl,
      bot_name: 'Earshot',
      metadata: { earshotJoinId: request.joinId },
      recording_config: { video_mixed_mp4: {}, transcript: { provider: { meeting_captions: {} } } },
    })
  })

  test('a scheduled bot that was dispatched meanwhile is asked to leave', async () => {
    const { botId } = await driver.join(joinRequest({ joinAt: new Date(Date.now() + 3_600_000) }), signal)
    fake.server.disturb(/^DELETE /, (work) => {
      fake.set(botId, 'joining_call')
      return work()
    })
    await driver.leave(botId, signal)
    expect(fake.isGone(botId)).toBe(true)
  })

  test('files are fetched without the key, and not from private addresses', async () => {
    const { botId } = await driver.join(joinRequest(), signal)
    fake.speak(botId, [{ speaker: 'Ada', start: 0, end: 1, text: 'hello' }])
    fake.move(botId, 'ended')
    expect(await driver.transcript(botId, signal)).toMatchObject([{ speaker: 'Ada', text: 'hello' }])
    fake.redirectTranscripts('http://10.0.0.1/steal')
    expect(await errorOf(driver.transcript(botId, signal))).toMatchObject({
      kind: 'retryable',
      message: expect.stringContaining('OUTBOUND_ALLOW'),
    })
  })
})

describe('webhooks of Recall', () => {
  test('with the headers of older workspaces', async () => {
    using fake = startRecall()
    const driver = driverOf('recall', fake)
    const request = joinRequest()
    const { botId } = await driver.join(request, signal)
    const { headers, body } = fake.svixWebhook(botId)
    expect(driver.verifyNudge(headers, body)).toEqual({ botId, joinId: request.joinId })
    headers.set('svix-timestamp', String(Math.floor(Date.now() / 1_000) + 1))
    expect(driver.verifyNudge(headers, body)).toBeNull()
  })

  test('one of several signatures is enough, as while a secret is changed', async () => {
    using fake = startRecall()
    const driver = driverOf('recall', fake)
    const { botId } = await driver.join(joinRequest(), signal)
    const { headers, body } = fake.webhook(botId)
    const other = fake.webhook(botId, { secret: fake.otherSecret }).headers.get('webhook-signature')
    headers.set('webhook-signature', `v1a,x ${other} ${headers.get('webhook-signature')}`)
    expect(driver.verifyNudge(headers, body)).toMatchObject({ botId })
  })

  test('a secret of another form is refused at the start, without being shown', () => {
    expect(() => recallNudge('not base64 !')).toThrow('RECORDER_WEBHOOK_SECRET')
    expect(() => recallNudge('not base64 !')).not.toThrow('not base64 !')
  })
})
