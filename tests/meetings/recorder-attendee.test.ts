/** What only Attendee has: no error codes, deduplication keys that become free again, and a signature over canonical JSON. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import type { BotReport, Recorder } from '../../src/calls/meetings/recorder.ts'
import { reportOf, utterancesOf } from '../../src/calls/meetings/recorders/attendee.rules.ts'
import { canonicalJson } from '../../src/calls/meetings/recorders/canonical-json.rules.ts'
import { attendeeNudge } from '../../src/calls/meetings/recorders/nudges.ts'
import { type FakeAttendee, startAttendee } from '../support/recorders/attendee.ts'
import { driverOf, errorOf, joinRequest, signal } from '../support/recorders/drivers.ts'

describe('states of Attendee', () => {
  const joined = { type: 'joined_meeting', created_at: '2026-11-22T10:00:00Z' }
  const bot = (state: string, changed: Partial<Parameters<typeof reportOf>[0]> = {}) =>
    reportOf({ id: 'bot_1', state, events: [], recording_state: 'not_started', ...changed })

  const STATES: Readonly<Record<string, BotReport['state']>> = {
    scheduled: 'scheduled',
    staged: 'scheduled',
    ready: 'joining',
    joining: 'joining',
    waiting_room: 'waiting_room',
    joined_not_recording: 'recording',
    joined_recording: 'recording',
    joined_recording_paused: 'recording',
    joined_recording_permission_denied: 'recording',
    joining_breakout_room: 'recording',
    leaving_breakout_room: 'recording',
    leaving: 'processing',
    post_processing: 'processing',
    ended: 'ended',
    fatal_error: 'failed',
    data_deleted: 'ended',
  }
  for (const [state, expected] of Object.entries(STATES))
    test(`${state} is ${expected}`, () => expect(bot(state).state).toBe(expected))

  test('a state of a newer version is joining before the bot has joined, and recording after', () => {
    expect(bot('hovering').state).toBe('joining')
    expect(bot('constructor').state).toBe('joining')
    expect(bot('hovering', { events: [joined] }).state).toBe('recording')
  })

  const FAILURES = {
    meeting_not_found: ['meeting_not_found'],
    join_timeout: [
      'meeting_not_started_waiting_for_host',
      'authorized_user_not_in_meeting_timeout_exceeded',
      'bot_not_launched',
    ],
    waiting_room_timeout: ['waiting_room_timeout_exceeded'],
    recorder_failed: [
      'request_to_join_denied',
      'login_required',
      'bot_login_attempt_failed',
      'blocked_by_captcha',
      'unable_to_connect_to_meeting',
      'zoom_authorization_failed',
      'zoom_meeting_status_failed',
      'unpublished_zoom_app',
      'zoom_sdk_internal_error',
      'zoom_app_cannot_join_anonymously',
      'process_terminated',
      'rtmp_connection_failed',
      'ui_element_not_found',
      'heartbeat_timeout',
      'out_of_credits',
      'attendee_internal_error',
      'global_runtime_timeout',
      'a_sub_type_of_a_newer_version',
    ],
  } as const
  for (const [code, subTypes] of Object.entries(FAILURES))
    for (const sub_type of subTypes)
      test(`${sub_type} is ${code}`, () => {
        const events = [{ type: 'could_not_join_meeting', sub_type, created_at: '2026-11-22T10:00:00Z' }]
        expect(bot('fatal_error', { events })).toEqual({
          state: 'failed',
          code: code as keyof typeof FAILURES,
          detail: `Attendee reports ${sub_type}.`,
        })
      })

  test('media is there once the recording is complete, also after a fatal error', () => {
    expect(bot('ended', { recording_state: 'complete' })).toMatchObject({ state: 'ended', hasMedia: true })
    for (const recording_state of ['not_started', 'failed', 'in_progress', null])
      expect(bot('ended', { recording_state })).toMatchObject({ state: 'ended', hasMedia: false })
    expect(bot('fatal_error', { recording_state: 'complete' })).toMatchObject({
      state: 'ended',
      hasMedia: true,
    })
  })

  test('a code cannot bring anything else into a message', () => {
    const events = [{ type: 'fatal_error', sub_type: 'x<script>\n y'.repeat(50) }]
    expect(bot('fatal_error', { events })).toMatchObject({
      detail: expect.stringMatching(/^Attendee reports [\w.-]{1,80}\.$/),
    })
  })

  test('utterances count from the start of the recording, or from the first of them', () => {
    const items = [
      { speaker_name: ' Ada ', timestamp_ms: 5_000, duration_ms: 500, transcription: { transcript: ' hi ' } },
      { speaker_name: '', timestamp_ms: 1_000, duration_ms: -1, transcription: 'old version' },
      { speaker_name: null, timestamp_ms: 2_000, duration_ms: 1, transcription: { transcript: '' } },
      { speaker_name: 'x', timestamp_ms: 2_000, duration_ms: 1, transcription: null },
    ]
    expect(utterancesOf(items, null)).toEqual([
      { speaker: null, startSec: 0, endSec: 0, text: 'old version' },
      { speaker: 'Ada', startSec: 4, endSec: 4.5, text: 'hi' },
    ])
    expect(utterancesOf(items, 4_000).map(({ startSec }) => startSec)).toEqual([0, 1])
  })
})

describe('requests to Attendee', () => {
  let fake: FakeAttendee
  let driver: Recorder
  beforeEach(() => {
    fake = startAttendee()
    driver = driverOf('attendee', fake)
  })
  afterEach(() => fake[Symbol.dispose]())

  const REFUSALS = [
    [
      'Organization has run out of credits. Please add more credits in the Account -> Billing page.',
      'terminal',
      'credits',
    ],
    [
      'You have exceeded the maximum number of concurrent bots (1) for your account. Please reach out to customer support to increase the limit.',
      'retryable',
      'no free bot',
    ],
    [
      'Zoom App credentials are required to create a Zoom bot. Please add Zoom credentials at https://a.test/x',
      'terminal',
      'Zoom credentials',
    ],
    ['An error occurred while creating the bot. Error ID: 5', 'retryable', 'internal error'],
    ['Something new', 'terminal', '400'],
  ] as const
  for (const [error, kind, words] of REFUSALS)
    test(`“${error.slice(0, 40)}…” is ${kind}`, async () => {
      fake.refuse(error)
      const failure = await errorOf(driver.join(joinRequest(), signal))
      expect(failure).toMatchObject({ kind, message: expect.stringContaining(words) })
    })

  test('a used deduplication key leads to the bot that has it', async () => {
    const request = joinRequest()
    // The first request is still on its way while the second looks for its bot.
    fake.server.disturb(/^GET \/api\/v1\/bots$/, () => Response.json({ results: [] }))
    const botId = (await driver.join(request, signal)).botId
    fake.server.disturb(/^GET \/api\/v1\/bots$/, () => Response.json({ results: [] }))
    expect(await driver.join(request, signal)).toEqual({ botId })
    expect(fake.botIds()).toEqual([botId])
  })

  test('the webhook address is sent only if Attendee takes it', async () => {
    await driver.join(joinRequest({ nudgeUrl: 'http://10.1.2.3/hook' }), signal)
    await driver.join(joinRequest({ nudgeUrl: 'https://earshot.test/hook' }), signal)
    const bodies = fake.server.exchanges.flatMap(({ method, body }) => (method === 'POST' ? [body] : []))
    expect(bodies[0]).not.toHaveProperty('webhooks')
    expect(bodies[1]).toMatchObject({
      webhooks: [{ url: 'https://earshot.test/hook', triggers: ['bot.state_change'] }],
      metadata: { earshotJoinId: expect.any(String) },
    })
  })

  test('a name keeps the characters that Attendee takes', async () => {
    const first = await driver.join(joinRequest({ botName: 'Protokoll 🎤 für Ünal' }), signal)
    expect(fake.nameOf(first.botId)).toBe('Protokoll  für Ünal')
    const second = await driver.join(joinRequest({ botName: '🎤🎤' }), signal)
    expect(fake.nameOf(second.botId)).toBe('Earshot')
  })

  test('a bot of a foreign list is not taken', async () => {
    const foreign = {
      id: 'bot_foreign',
      state: 'joining',
      events: [],
      metadata: { earshotJoinId: 'another' },
    }
    fake.server.disturb(/^GET \/api\/v1\/bots$/, () => Response.json({ results: [foreign] }))
    expect(await driver.find(joinRequest(), signal)).toBeNull()
  })
})

describe('the canonical JSON of Attendee', () => {
  /** Made by Python 3: sent with `json.dumps(payload)`, signed with `bots/webhook_utils.py` of attendee-labs/attendee. */
  const VECTOR = {
    secret: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
    sent: String.raw`{"idempotency_key": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "bot_id": "bot_weIAju4OXNZkDTpZ", "bot_metadata": {"earshotJoinId": "j-1", "ratio": 1.0, "big": 12345678901234567890, "tiny": 1e-07, "neg": -0.0, "huge": 1e+22, "\ud83c\udfa4": "astral key", "\uff21": "full-width key", "\ue000": "private", "Z": 1, "a": [3.1, true, null, {"z": {}, "b": []}]}, "trigger": "bot.state_change", "data": {"new_state": "ended", "old_state": "post_processing", "created_at": "2024-01-18T12:34:56.789012Z", "event_type": "post_processing_completed", "event_sub_type": null, "event_metadata": {"text": "Gro\u00dfer \"Saal\" \\ / \u007f\u0085\u2028 tab\t nl\n cr\r bs\b ff\f nul\u0000 esc\u001b \ud83c\udfa4"}}}`,
    canonical: Buffer.from(
      'eyJib3RfaWQiOiJib3Rfd2VJQWp1NE9YTlprRFRwWiIsImJvdF9tZXRhZGF0YSI6eyJaIjoxLCJhIjpbMy4xLHRydWUsbnVsbCx7ImIiOltdLCJ6Ijp7fX1dLCJiaWciOjEyMzQ1Njc4OTAxMjM0NTY3ODkwLCJlYXJzaG90Sm9pbklkIjoiai0xIiwiaHVnZSI6MWUrMjIsIm5lZyI6LTAuMCwicmF0aW8iOjEuMCwidGlueSI6MWUtMDcsIu6AgCI6InByaXZhdGUiLCLvvKEiOiJmdWxsLXdpZHRoIGtleSIsIvCfjqQiOiJhc3RyYWwga2V5In0sImRhdGEiOnsiY3JlYXRlZF9hdCI6IjIwMjQtMDEtMThUMTI6MzQ6NTYuNzg5MDEyWiIsImV2ZW50X21ldGFkYXRhIjp7InRleHQiOiJHcm/Dn2VyIFwiU2FhbFwiIFxcIC8gf8KF4oCoIHRhYlx0IG5sXG4gY3JcciBic1xiIGZmXGYgbnVsXHUwMDAwIGVzY1x1MDAxYiDwn46kIn0sImV2ZW50X3N1Yl90eXBlIjpudWxsLCJldmVudF90eXBlIjoicG9zdF9wcm9jZXNzaW5nX2NvbXBsZXRlZCIsIm5ld19zdGF0ZSI6ImVuZGVkIiwib2xkX3N0YXRlIjoicG9zdF9wcm9jZXNzaW5nIn0sImlkZW1wb3RlbmN5X2tleSI6IjdjOWU2Njc5LTc0MjUtNDBkZS05NDRiLWUwN2ZjMWY5MGFlNyIsInRyaWdnZXIiOiJib3Quc3RhdGVfY2hhbmdlIn0=',
      'base64',
    ).toString(),
    signature: 'IhuOdbUD8U9I3KMWOo5LcgeoufICYRuxU5LEWMulD5s=',
  }

  test('is that of Python', () => {
    expect(canonicalJson(VECTOR.sent)).toBe(VECTOR.canonical)
  })

  test('makes the signature of Python', () => {
    const verify = attendeeNudge(VECTOR.secret)
    const headers = new Headers({ 'x-webhook-signature': VECTOR.signature })
    expect(verify(headers, new TextEncoder().encode(VECTOR.sent))).toEqual({
      botId: 'bot_weIAju4OXNZkDTpZ',
      joinId: 'j-1',
    })
  })

  test('is not made of a webhook that is too large', () => {
    const key = Buffer.from(VECTOR.secret, 'base64')
    const verify = (bytes: number) => {
      const text = JSON.stringify({ bot_id: 'bot_1', padding: 'x'.repeat(bytes) })
      const signature = createHmac('sha256', key).update(text).digest('base64')
      const headers = new Headers({ 'x-webhook-signature': signature })
      return attendeeNudge(VECTOR.secret)(headers, new TextEncoder().encode(text))
    }
    expect(verify(15 * 1024)).toEqual({ botId: 'bot_1' })
    expect(verify(16 * 1024)).toBeNull()
  })

  test('needs a secret of its form, which is refused at the start without being shown', () => {
    expect(() => attendeeNudge('not base64 !')).toThrow('RECORDER_WEBHOOK_SECRET')
    expect(() => attendeeNudge('not base64 !')).not.toThrow('not base64 !')
  })

  test('does not depend on white space, the order of members or the escapes of the text', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const reordered = JSON.stringify(JSON.parse(text), reverse, 2)
        // Numbers keep their text, so both must have been written by the same program.
        expect(canonicalJson(reordered)).toBe(canonicalJson(JSON.stringify(JSON.parse(text))))
      }),
    )
  })
})

function reverse(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toReversed())
}
