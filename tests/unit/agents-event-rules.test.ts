import { describe, expect, test } from 'bun:test'
import { ERRORS } from '../../src/app/error-catalogue.ts'
import { ALL_RULES, PRESENT_RULES, type RulesVersion } from '../../src/hear/agents/events/redaction.ts'
import { decide, idsToLoad } from '../../src/hear/agents/ingest/event.rules.ts'
import type { Event } from '../../src/hear/agents/model.ts'
import { AppError, type ErrorCode } from '../../src/platform/errors.ts'
import { MemorySession } from '../support/memory-session.ts'

const event = (externalEventId: string, sequence: number, members: Partial<Event> = {}): Event => ({
  externalEventId,
  sequence,
  revision: 1,
  occurredAt: '2026-01-01T00:00:00Z',
  type: 'user_message',
  content: 'text',
  ...members,
})

const feedbackOn = (targetEventExternalId: string): Partial<Event> => ({
  type: 'feedback',
  content: undefined,
  feedback: { targetEventExternalId, rating: 'positive' },
})

const answer = { type: 'assistant_message' } as const

/** Counts as accepted, deduplicated, revised. */
type Counts = [number, number, number]

interface Row {
  readonly rule: string
  readonly before?: Event[][]
  readonly sent: Event[]
  readonly result: Counts | { readonly code: ErrorCode; readonly index: number }
}

const partial = event('a', 1, { final: false })
const final2 = event('a', 1, { revision: 2, content: 'whole' })

const ROWS: Row[] = [
  { rule: 'new events are accepted', sent: [event('a', 1), event('b', 2)], result: [2, 0, 0] },
  { rule: 'order within a request does not matter', sent: [event('b', 2), event('a', 1)], result: [2, 0, 0] },
  { rule: 'a retry is deduplicated', before: [[event('a', 1)]], sent: [event('a', 1)], result: [0, 1, 0] },
  {
    rule: 'a retry beside new events is deduplicated',
    before: [[event('a', 1)]],
    sent: [event('b', 2), event('a', 1)],
    result: [1, 1, 0],
  },
  {
    rule: 'a retry that writes the same instant otherwise is deduplicated',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { occurredAt: '2026-01-01T01:00:00.0+01:00', final: true })],
    result: [0, 1, 0],
  },
  {
    rule: 'the same revision with other content is a conflict',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { content: 'other' })],
    result: { code: 'event_changed', index: 0 },
  },
  {
    rule: 'a higher revision is revised',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { revision: 2, content: 'other' })],
    result: [0, 0, 1],
  },
  {
    rule: 'a higher revision with the same content is revised',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { revision: 7 })],
    result: [0, 0, 1],
  },
  {
    rule: 'a partial event is finalized by a higher revision',
    before: [[partial]],
    sent: [final2],
    result: [0, 0, 1],
  },
  {
    rule: 'a partial event may be corrected while partial',
    before: [[partial]],
    sent: [event('a', 1, { final: false, revision: 2 })],
    result: [0, 0, 1],
  },
  {
    rule: 'partial to final without a higher revision is a conflict',
    before: [[partial]],
    sent: [event('a', 1)],
    result: { code: 'event_changed', index: 0 },
  },
  {
    rule: 'a finalized event sent as partial is a conflict',
    before: [[event('a', 1)]],
    sent: [partial],
    result: { code: 'event_finalized', index: 0 },
  },
  {
    rule: 'a finalized event sent as partial is a conflict even with a higher revision',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { final: false, revision: 2 })],
    result: { code: 'event_finalized', index: 0 },
  },
  {
    rule: 'the retry of a superseded revision is deduplicated, also a partial one',
    before: [[partial], [final2]],
    sent: [partial],
    result: [0, 1, 0],
  },
  {
    rule: 'a superseded revision with other content is a conflict',
    before: [[partial], [final2]],
    sent: [event('a', 1, { content: 'never sent' })],
    result: { code: 'event_changed', index: 0 },
  },
  {
    rule: 'a lower revision that was never stored is a conflict',
    before: [[event('a', 1)], [event('a', 1, { revision: 3 })]],
    sent: [event('a', 1, { revision: 2 })],
    result: { code: 'event_changed', index: 0 },
  },
  {
    rule: 'a revision cannot change the sequence',
    before: [[event('a', 1)]],
    sent: [event('z', 9), event('a', 2, { revision: 2 })],
    result: { code: 'event_sequence_moved', index: 1 },
  },
  {
    rule: 'a revision cannot change the type',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { revision: 2, type: 'other' })],
    result: { code: 'event_type_changed', index: 0 },
  },
  {
    rule: 'a new event cannot take the sequence of a stored one',
    before: [[event('a', 1)]],
    sent: [event('b', 1)],
    result: { code: 'sequence_occupied', index: 0 },
  },
  {
    rule: 'two events of a request cannot share a sequence',
    sent: [event('a', 1), event('b', 1)],
    result: { code: 'sequence_occupied', index: 1 },
  },
  {
    rule: 'the same event twice in a request is one accepted and one duplicate',
    sent: [event('a', 1), event('a', 1)],
    result: [1, 1, 0],
  },
  {
    rule: 'the same revision twice in a request is one revised and one duplicate',
    before: [[event('a', 1)]],
    sent: [final2, final2],
    result: [0, 1, 1],
  },
  {
    rule: 'a retry twice in a request is two duplicates',
    before: [[event('a', 1)]],
    sent: [event('a', 1), event('a', 1)],
    result: [0, 2, 0],
  },
  {
    rule: 'one id with two contents in a request is a conflict',
    sent: [event('a', 1), event('a', 1, { content: 'other' })],
    result: { code: 'event_changed', index: 1 },
  },
  {
    rule: 'partial and final revision of one event in one request are accepted and revised',
    sent: [partial, final2],
    result: [1, 0, 1],
  },
  {
    rule: 'revisions in one request are taken in their order, not in that of the array',
    sent: [final2, partial],
    result: [1, 0, 1],
  },
  {
    rule: 'revisions between other events, and twice, are counted one by one',
    sent: [final2, event('b', 2), partial, final2, partial],
    result: [2, 2, 1],
  },
  {
    rule: 'two revisions above the stored one are two revisions',
    before: [[partial]],
    sent: [event('a', 1, { revision: 3 }), final2],
    result: [0, 0, 2],
  },
  {
    rule: 'a stored revision and two above it',
    before: [[partial]],
    sent: [event('a', 1, { revision: 3 }), final2, partial],
    result: [0, 1, 2],
  },
  {
    rule: 'one revision with two contents beside another revision is a conflict',
    sent: [partial, final2, event('a', 1, { revision: 2, content: 'other' })],
    result: { code: 'event_changed', index: 2 },
  },
  {
    rule: 'final before partial, by revision, is a conflict in one request too',
    sent: [event('a', 1, { revision: 2, final: false }), event('a', 1)],
    result: { code: 'event_finalized', index: 0 },
  },
  {
    rule: 'a revision in the same request cannot change the sequence',
    sent: [partial, event('a', 2, { revision: 2 })],
    result: { code: 'event_sequence_moved', index: 1 },
  },
  {
    rule: 'a revision in the same request cannot change the type',
    sent: [event('a', 1, { revision: 2, type: 'other' }), partial],
    result: { code: 'event_type_changed', index: 0 },
  },
  {
    rule: 'feedback may be about a stored response',
    before: [[event('a', 1, answer)]],
    sent: [event('f', 2, feedbackOn('a'))],
    result: [1, 0, 0],
  },
  {
    rule: 'feedback may be about a response of the same request, in any order',
    sent: [event('f', 2, feedbackOn('a')), event('a', 1, answer)],
    result: [2, 0, 0],
  },
  {
    rule: 'feedback about an unknown event is refused',
    sent: [event('a', 1, answer), event('f', 2, feedbackOn('b'))],
    result: { code: 'invalid_feedback_target', index: 1 },
  },
  {
    rule: 'feedback about a user message is refused',
    before: [[event('a', 1)]],
    sent: [event('f', 2, feedbackOn('a'))],
    result: { code: 'invalid_feedback_target', index: 0 },
  },
  {
    rule: 'feedback about a later response is refused',
    before: [[event('a', 3, answer)]],
    sent: [event('f', 2, feedbackOn('a'))],
    result: { code: 'invalid_feedback_target', index: 0 },
  },
  {
    rule: 'feedback about itself is refused',
    sent: [event('f', 2, feedbackOn('f'))],
    result: { code: 'invalid_feedback_target', index: 0 },
  },
  {
    rule: 'a revision of feedback needs a target too',
    before: [[event('a', 1, answer), event('f', 2, feedbackOn('a'))]],
    sent: [event('f', 2, { ...feedbackOn('b'), revision: 2 })],
    result: { code: 'invalid_feedback_target', index: 0 },
  },
  {
    rule: 'a bad target (400) is reported before a conflict (409)',
    before: [[event('a', 1)]],
    sent: [event('a', 1, { content: 'other' }), event('f', 2, feedbackOn('b'))],
    result: { code: 'invalid_feedback_target', index: 1 },
  },
]

describe('the verdict on the events of a request', () => {
  test.each(ROWS.map((row) => [row.rule, row] as const))('%s', (_, row) => {
    const session = new MemorySession()
    for (const batch of row.before ?? []) session.send(batch)
    const before = session.snapshot()
    if (Array.isArray(row.result)) {
      expect(session.send(row.sent)).toEqual(row.result)
    } else {
      const error = caught(() => session.send(row.sent))
      expect(error).toMatchObject({
        code: row.result.code,
        extra: { eventIndex: row.result.index, externalEventId: row.sent[row.result.index]?.externalEventId },
      })
      expect(ERRORS.codes[row.result.code]).toBe(row.result.code === 'invalid_feedback_target' ? 400 : 409)
      expect(error?.details[0]?.path).toStartWith(`events[${row.result.index}]`)
      expect(session.snapshot()).toEqual(before)
    }
  })

  test('a repeated feedback event needs no target', () => {
    const session = new MemorySession()
    session.send([event('a', 1, answer), event('f', 2, feedbackOn('a'))])
    session.forget('a')
    expect(session.send([event('f', 2, feedbackOn('a'))])).toEqual([0, 1, 0])
  })

  test('the ids to load are those of the events and of the targets of feedback', () => {
    const session = new MemorySession()
    const prepared = [event('f', 2, feedbackOn('a')), event('b', 3)].map((sent) => session.prepare(sent))
    expect(idsToLoad(prepared).sort()).toEqual(['a', 'b', 'f'])
  })
})

describe('a redaction rule that changed between a send and its retry', () => {
  const changed = { redactedPatterns: ['text'] }

  test('does not turn the retry into a conflict', () => {
    const session = new MemorySession()
    session.send([event('a', 1)])
    session.changeSettings(changed)
    expect(session.send([event('a', 1)])).toEqual([0, 1, 0])
  })

  test('does not hide a change', () => {
    const session = new MemorySession()
    session.send([event('a', 1)])
    session.changeSettings(changed)
    expect(caught(() => session.send([event('a', 1, { content: 'text 2' })]))?.code).toBe('event_changed')
  })

  test('does not turn the retry of a superseded revision into a conflict', () => {
    const session = new MemorySession()
    session.send([event('a', 1)])
    session.send([event('a', 1, { revision: 2 })])
    session.changeSettings(changed)
    expect(session.send([event('a', 1)])).toEqual([0, 1, 0])
  })

  test('is a conflict where the earlier settings are not known', () => {
    const session = new MemorySession()
    session.send([event('a', 1)])
    session.changeSettings(changed)
    const input = session.inputFor([event('a', 1)])
    expect(caught(() => decide({ ...input, rejudge: () => null }))?.code).toBe('event_changed')
  })

  test('no fingerprint is computed again under the same settings and rules', () => {
    const session = new MemorySession()
    session.send([event('a', 1)])
    const input = session.inputFor([event('a', 1, { content: 'other' })])
    const judged: RulesVersion[] = []
    const rejudge = (_index: number, _settings: number, rules: RulesVersion) => {
      judged.push(rules)
      return null
    }
    expect(caught(() => decide({ ...input, rejudge }))?.code).toBe('event_changed')
    expect(judged).toEqual(ALL_RULES.filter((rules) => rules !== PRESENT_RULES))
  })
})

function caught(work: () => void): AppError | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}
