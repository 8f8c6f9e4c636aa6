/** What the actor of a meeting join does next: tables, and that every join ends whatever the recorder answers. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { loadConfig } from '../../src/app/config.ts'
import {
  apply,
  asLeaving,
  discarded,
  type JoinState,
  type Outcome,
  planOf,
} from '../../src/calls/meetings/plan.rules.ts'
import { after, furtherStatus, isActive, nextQuestion } from '../../src/calls/meetings/status.rules.ts'

const TIMES = loadConfig({}).meetings
const NOW = new Date('2026-01-02T09:00:00Z')

const JOIN: JoinState = {
  status: 'joining',
  statusSince: NOW,
  joinAt: null,
  now: NOW,
  recorder: 'attendee',
  errorCode: null,
  joinedAt: null,
  endedAt: null,
  joinSentAt: null,
  botId: null,
  leaveRequestedAt: null,
  leaveSentAt: null,
  duty: null,
  mustDelete: false,
  failures: 0,
  nextCheckAt: NOW,
}
const join = (changed: Partial<JoinState>): JoinState => ({ ...JOIN, ...changed })
const ago = (seconds: number) => after(NOW, -seconds)

describe('the next step', () => {
  test.each([
    ['asks to join', {}, 'join'],
    ['waits for the moment before joinAt', { status: 'scheduled', joinAt: after(NOW, 301) }, 'wait'],
    [
      'asks a recorder with a schedule ahead of joinAt',
      { status: 'scheduled', joinAt: after(NOW, 299) },
      'join',
    ],
    ['asks Vexa at joinAt', { status: 'scheduled', joinAt: after(NOW, 1), recorder: 'vexa' }, 'wait'],
    ['looks for the bot of a lost answer', { joinSentAt: ago(30) }, 'find'],
    ['asks to join again only when the first request can no longer arrive', { joinSentAt: ago(61) }, 'join'],
    ['asks for the state of a known bot', { botId: 'b', joinSentAt: ago(1) }, 'ask'],
    ['cancels what was not asked for yet', { leaveRequestedAt: NOW }, 'cancel'],
    ['looks for the bot that is to leave', { leaveRequestedAt: NOW, joinSentAt: ago(90) }, 'find'],
    ['makes the bot leave', { leaveRequestedAt: NOW, botId: 'b' }, 'leave'],
    [
      'asks for the state of a bot that leaves',
      { leaveRequestedAt: NOW, leaveSentAt: NOW, botId: 'b' },
      'ask',
    ],
    ['is nothing when all is done', { status: 'ended', botId: 'b' }, 'nothing'],
    ['looks at the media', { status: 'ended', botId: 'b', duty: 'media' }, 'media'],
    ['deletes the copy', { status: 'ended', botId: 'b', duty: 'delete' }, 'delete'],
    [
      'looks for the bot that may be in the meeting',
      { status: 'failed', duty: 'leave', joinSentAt: ago(9) },
      'find',
    ],
  ] as const)('%s', (_, changed, plan) => {
    expect(planOf(join(changed as Partial<JoinState>), TIMES)).toBe(plan)
  })
})

describe('a result', () => {
  test('of a recorder that refuses and names a time is a join that was never sent', () => {
    const error = { kind: 'retryable', code: 'recorder_failed', retryAfterSeconds: 30 } as const
    const { join: next } = apply(join({ joinSentAt: NOW }), 'join', { kind: 'error', error }, TIMES)
    expect(next).toMatchObject({ joinSentAt: null, failures: 1, nextCheckAt: after(NOW, 30) })
  })

  test('never takes the state back', () => {
    const inMeeting = join({ status: 'recording', botId: 'b' })
    const report = { state: 'waiting_room' } as const
    const { join: next } = apply(inMeeting, 'ask', { kind: 'report', report, utterances: null }, TIMES)
    expect([next.status, next.statusSince]).toEqual(['recording', NOW])
    expect(furtherStatus('joining', 'processing')).toBe('processing')
  })

  test('that is late respects a leave that came meanwhile', () => {
    const { join: next } = apply(join({ leaveRequestedAt: NOW }), 'join', { kind: 'bot', botId: 'b' }, TIMES)
    expect([planOf(next, TIMES), next.nextCheckAt]).toEqual(['leave', NOW])
  })

  test('is asked for sooner when people watch, and not after the deadline', () => {
    const pause = (changed: Partial<JoinState>) =>
      (nextQuestion(join(changed), TIMES).getTime() - NOW.getTime()) / 1_000
    expect(pause({})).toBe(5)
    expect(pause({ statusSince: ago(100) })).toBe(10)
    expect(pause({ status: 'recording', statusSince: ago(3_600) })).toBe(60)
    expect(pause({ statusSince: ago(298) })).toBe(2)
  })
})

describe('the end', () => {
  test('of a join that was discarded or left before it was sent needs no recorder', () => {
    expect(discarded(JOIN)).toMatchObject({ status: 'ended', duty: null, nextCheckAt: null })
    expect(asLeaving(JOIN, TIMES)).toMatchObject({
      join: { status: 'ended', nextCheckAt: null },
      effect: { kind: 'cancelled' },
    })
    expect(discarded(join({ joinSentAt: NOW, botId: 'b' }))).toMatchObject({
      duty: 'leave',
      mustDelete: true,
    })
  })

  const times = { joinedAt: NOW, endedAt: NOW }
  const error = (kind: 'retryable' | 'terminal'): Outcome => ({
    kind: 'error',
    error: { kind, code: 'recorder_failed', retryAfterSeconds: null },
  })
  const report = (one: Extract<Outcome, { kind: 'report' }>['report']): Outcome => ({
    kind: 'report',
    report: one,
    utterances: null,
  })
  const answer = fc.constantFrom<Outcome>(
    { kind: 'none' },
    { kind: 'busy', isHanging: true, seconds: 10 },
    { kind: 'busy', isHanging: false, seconds: 1 },
    { kind: 'bot', botId: null },
    { kind: 'bot', botId: 'b' },
    { kind: 'left' },
    error('retryable'),
    error('terminal'),
    ...(['scheduled', 'joining', 'waiting_room', 'recording', 'processing'] as const).map((state) =>
      report({ state, ...times }),
    ),
    report({ state: 'ended', hasMedia: true, ...times }),
    report({ state: 'ended', hasMedia: false }),
    report({ state: 'failed', code: 'meeting_not_found', detail: 'x' }),
    { kind: 'copy', state: 'awaited' },
    { kind: 'copy', state: 'complete' },
    { kind: 'deleted' },
  )

  /** Runs a join until nothing is left to do, or until its end; the recorder answers as `next` says. */
  function run(next: () => Outcome, leaveAt = -1, isWhole = true) {
    let state = JOIN
    const effects: unknown[] = []
    for (let steps = 0; state.nextCheckAt !== null && (isWhole || isActive(state.status)); steps++) {
      expect(steps).toBeLessThan(2_000)
      if (state.nextCheckAt > state.now) state = { ...state, now: state.nextCheckAt }
      if (steps === leaveAt && isActive(state.status)) {
        const left = asLeaving(state, TIMES)
        if (left.effect !== null) effects.push(left.effect)
        state = left.join
      }
      const plan = planOf(state, TIMES)
      if (plan === 'join') state = { ...state, joinSentAt: state.now }
      const wasActive = isActive(state.status)
      const { join: after_, effect } = apply(state, plan, fitting(plan, next()), TIMES)
      if (effect !== null) effects.push(effect)
      expect(effect !== null).toBe(wasActive && !isActive(after_.status))
      // A step in the same moment must change something, or it would be repeated for ever.
      if (after_.nextCheckAt?.getTime() === state.now.getTime()) expect(after_).not.toEqual(state)
      if (isActive(after_.status)) expect(after_.nextCheckAt).not.toBeNull()
      state = after_
    }
    return { state, effects, seconds: (state.statusSince.getTime() - NOW.getTime()) / 1_000 }
  }

  test('comes, whatever the recorder answers: with one effect, and nothing is left to do', () => {
    fc.assert(
      fc.property(fc.infiniteStream(answer), fc.nat(40), (answers, leaveAt) => {
        const { state, effects } = run(() => answers.next().value as Outcome, leaveAt)
        expect([isActive(state.status), effects.length]).toEqual([false, 1])
      }),
    )
  })

  test.each([
    ['joining', report({ state: 'joining' }), 300, 'failed', 'join_timeout'],
    ['scheduled', report({ state: 'scheduled' }), 300, 'failed', 'join_timeout'],
    ['waiting_room', report({ state: 'waiting_room' }), 1_205, 'failed', 'waiting_room_timeout'],
    ['processing', report({ state: 'processing' }), 7_205, 'failed', 'recorder_failed'],
    ['recording, which the bot leaves', report({ state: 'recording' }), 36_005, 'failed', 'recorder_failed'],
    ['an error that may pass', error('retryable'), 300, 'failed', 'recorder_failed'],
    ['no answer', { kind: 'busy', isHanging: true, seconds: 10 } as const, 300, 'failed', 'recorder_failed'],
    ['an error that stays', error('terminal'), 0, 'failed', 'recorder_failed'],
  ] as const)('comes in time if the recorder only ever says: %s', (_, only, seconds, status, code) => {
    // A recorder that hangs is asked again until it answers, or fails.
    const ended = run(() => only, -1, only.kind !== 'busy')
    expect([ended.state.status, ended.state.errorCode]).toEqual([status, code])
    expect(ended.effects).toEqual([{ kind: 'failed', code }])
    expect(ended.seconds).toBeWithin(seconds, seconds + 61)
  })
})

/** What this plan may lead to. */
function fitting(plan: ReturnType<typeof planOf>, outcome: Outcome): Outcome {
  const { kind } = outcome
  if (kind === 'error' || kind === 'busy')
    return plan === 'media' ? { kind: 'copy', state: 'complete' } : outcome
  if (plan === 'join') return kind === 'bot' && outcome.botId !== null ? outcome : { kind: 'bot', botId: 'b' }
  if (plan === 'find') return kind === 'bot' ? outcome : { kind: 'bot', botId: null }
  if (plan === 'leave') return { kind: 'left' }
  if (plan === 'delete') return { kind: 'deleted' }
  if (plan === 'media') return { kind: 'copy', state: kind === 'copy' ? outcome.state : 'complete' }
  if (plan === 'ask')
    return kind === 'report' ? outcome : { kind: 'report', report: { state: 'joining' }, utterances: null }
  return { kind: 'none' }
}
