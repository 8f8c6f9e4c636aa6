import { describe, expect, test } from 'bun:test'
import { checkRequest, environmentRefusal, parseRequest } from '../../src/hear/agents/ingest/request.rules.ts'
import {
  type Event,
  MAX_EVENT_BYTES,
  MAX_EVENTS_PER_REQUEST,
  type Participant,
} from '../../src/hear/agents/model.ts'
import { IngestRequest } from '../../src/hear/agents/request-model.ts'
import { AppError } from '../../src/platform/errors.ts'
import { validate } from '../../src/platform/validation/json.ts'

const event = (sequence: number, members: Partial<Event> = {}): Event => ({
  externalEventId: `e${sequence}`,
  sequence,
  revision: 1,
  occurredAt: '2026-01-01T00:00:00Z',
  type: 'user_message',
  ...members,
})

const request = (events: Event[], members: Partial<IngestRequest> = {}): IngestRequest => ({
  agentKey: 'a',
  externalSessionId: 's',
  events,
  ...members,
})

/** What is wrong with a request as large as a request may be. */
function refusal(sent: IngestRequest, bodyBytes = Number.MAX_SAFE_INTEGER): AppError | null {
  return caught(() => checkRequest(parseRequest(sent), bodyBytes))
}

function caught(work: () => void): AppError | null {
  try {
    work()
    return null
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
}

describe('sizes of a request', () => {
  test('500 events are accepted, 501 are too many', () => {
    const events = Array.from({ length: MAX_EVENTS_PER_REQUEST }, (_, index) => event(index))
    expect(refusal(request(events))).toBeNull()
    expect(refusal(request([...events, event(500)]))).toMatchObject({
      code: 'too_many_events',
      extra: { limit: 500, actual: 501 },
    })
  })

  test('an event may have 256 KiB of UTF-8, and not a byte more', () => {
    const sized = (bytes: number) => {
      const rest = Buffer.byteLength(JSON.stringify(event(1, { content: 'é' })))
      return event(1, { content: `é${'x'.repeat(bytes - rest)}` })
    }
    expect(refusal(request([event(0), sized(MAX_EVENT_BYTES)]))).toBeNull()
    expect(refusal(request([event(0), sized(MAX_EVENT_BYTES + 1)]))).toMatchObject({
      code: 'event_too_large',
      details: [{ path: 'events[1]' }],
      extra: {
        eventIndex: 1,
        externalEventId: 'e1',
        limitBytes: MAX_EVENT_BYTES,
        actualBytes: MAX_EVENT_BYTES + 1,
      },
    })
  })
})

describe('events', () => {
  test('every finding about an event names its index and its id', () => {
    const error = refusal(request([event(0), event(1, { occurredAt: '2026-02-30T00:00:00Z' })]))
    expect(error).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'events[1].occurredAt', code: 'date_time' }],
      extra: { eventIndex: 1, externalEventId: 'e1' },
    })
    expect(error?.message).toContain('events[1].occurredAt (e1)')
  })

  test('all findings of a request are reported at once, up to a limit', () => {
    const bad = Array.from({ length: 30 }, (_, index) => event(index, { occurredAt: 'now' }))
    expect(refusal(request(bad.slice(0, 3)))?.details).toHaveLength(3)
    expect(refusal(request(bad))?.details).toHaveLength(20)
  })

  const target = { targetEventExternalId: 'e0' }
  test.each<[string, Partial<Event>]>([
    ['a rating', { type: 'feedback', feedback: { ...target, rating: 'positive' } }],
    ['labels', { type: 'feedback', feedback: { ...target, labels: ['slow'] } }],
    ['a comment', { type: 'feedback', feedback: { ...target, comment: 'Thanks' } }],
    [
      'any combination',
      { type: 'feedback', feedback: { ...target, rating: 'negative', labels: [], comment: '' } },
    ],
    ['nothing in a revision above 1', { type: 'feedback', revision: 2, feedback: target }],
  ])('feedback may hold %s', (_, members) => {
    expect(refusal(request([event(1, members)]))).toBeNull()
  })

  test.each<[string, Partial<Event>, string, string]>([
    [
      'feedback on another type',
      { feedback: { ...target, rating: 'positive' } },
      'validation_failed',
      'feedback',
    ],
    ['a feedback event without feedback', { type: 'feedback' }, 'validation_failed', 'feedback'],
    ['empty feedback', { type: 'feedback', feedback: target }, 'validation_failed', 'feedback'],
    [
      'a retraction without a target',
      { type: 'feedback', revision: 2, feedback: {} },
      'invalid_feedback_target',
      'feedback.targetEventExternalId',
    ],
    [
      'feedback with no labels and a blank comment',
      { type: 'feedback', feedback: { ...target, labels: [], comment: ' ' } },
      'validation_failed',
      'feedback',
    ],
    [
      'feedback without a target',
      { type: 'feedback', feedback: { rating: 'positive' } },
      'invalid_feedback_target',
      'feedback.targetEventExternalId',
    ],
    [
      'feedback with an empty target',
      { type: 'feedback', feedback: { targetEventExternalId: '', rating: 'positive' } },
      'invalid_feedback_target',
      'feedback.targetEventExternalId',
    ],
  ])('%s is refused', (_, members, code, path) => {
    expect(refusal(request([event(0), event(1, members)]))).toMatchObject({
      code,
      details: [{ path: `events[1].${path}` }],
      extra: { eventIndex: 1, externalEventId: 'e1' },
    })
  })
})

describe('participants', () => {
  const personId = '0190a0a0-0000-7000-8000-000000000000'
  test.each<[string, Participant[]]>([
    ['none', []],
    ['an anonymous one', [{ boundary: 'external' }, { companyExternalId: 'c' }]],
    ['a named one with its id', [{ externalId: 'u', displayName: 'Ann', personId }]],
    [
      'the same one twice',
      [
        { externalId: 'u', email: 'a@b.example' },
        { externalId: 'u', email: 'a@b.example' },
      ],
    ],
    [
      'one in two parts',
      [
        { externalId: 'u', email: 'a@b.example' },
        { externalId: 'u', displayName: 'Ann' },
      ],
    ],
  ])('%s are accepted', (_, participants) => {
    expect(refusal(request([event(0)], { participants }))).toBeNull()
  })

  test.each<[string, Participant[], string]>([
    ['displayName without externalId', [{ displayName: 'Ann' }], 'participants[0].externalId'],
    ['username without externalId', [{ username: 'ann' }], 'participants[0].externalId'],
    ['email without externalId', [{ email: 'a@b.example' }], 'participants[0].externalId'],
    ['a personId that is no UUID', [{ externalId: 'u', personId: '7' }], 'participants[0].personId'],
    [
      'one externalId with two values',
      [
        { externalId: 'u', email: 'a@b.example' },
        { externalId: 'u' },
        { externalId: 'u', email: 'c@b.example' },
      ],
      'participants[2].externalId',
    ],
  ])('%s is refused', (_, participants, path) => {
    const error = refusal(request([event(0)], { participants }))
    expect(error).toMatchObject({ code: 'validation_failed', details: [{ path }] })
    expect(error?.extra).toEqual({})
  })
})

describe('allowed environments', () => {
  const settings = { allowedEnvironments: ['production', 'staging'] }
  const inEnvironment = (environment: string) => ({ context: { environment } })
  /** What is said of the first event that may not be stored. */
  const check = (sent: IngestRequest, stored: string | null = null, of = settings) =>
    sent.events
      .map((_, index) => environmentRefusal(sent, index, stored, of))
      .find((refusal) => refusal !== null) ?? null

  test('an empty list accepts every environment, and none', () => {
    const anything = { allowedEnvironments: [] }
    expect(check(request([event(0), event(1, inEnvironment('x'))]), null, anything)).toBeNull()
  })

  test.each<[string, IngestRequest, string | null]>([
    ['of the request', request([event(0)], inEnvironment('staging')), null],
    ['of the event', request([event(0, inEnvironment('staging'))]), null],
    ['of the stored session', request([event(0)]), 'production'],
    ['of the event before that of the session', request([event(0, inEnvironment('staging'))]), 'elsewhere'],
    [
      'of each event, before a blocked one of the request',
      request([event(0, inEnvironment('staging'))], inEnvironment('x')),
      'elsewhere',
    ],
    ['of the request before that of the session', request([event(0)], inEnvironment('staging')), 'elsewhere'],
  ])('an allowed environment %s is accepted', (_, sent, stored) => {
    expect(check(sent, stored)).toBeNull()
  })

  test.each<[string, IngestRequest, string | null, object]>([
    ['a missing environment', request([event(0)]), null, { eventIndex: 0, externalEventId: 'e0' }],
    [
      'a missing environment of one event',
      request([event(0, inEnvironment('staging')), event(1)]),
      null,
      { eventIndex: 1, externalEventId: 'e1' },
    ],
    [
      'a blocked environment of the request',
      request([event(0, inEnvironment('staging')), event(1)], inEnvironment('x')),
      null,
      { eventIndex: 1, externalEventId: 'e1' },
    ],
    [
      'a blocked environment of an event',
      request([event(0), event(1, inEnvironment('x'))], inEnvironment('staging')),
      null,
      { eventIndex: 1, externalEventId: 'e1' },
    ],
    [
      'a blocked environment of the session',
      request([event(0)]),
      'x',
      { eventIndex: 0, externalEventId: 'e0' },
    ],
    [
      'another case of an allowed name',
      request([event(0, inEnvironment('Staging'))]),
      null,
      { eventIndex: 0, externalEventId: 'e0' },
    ],
  ])('%s is refused', (_, sent, stored, extra) => {
    const error = check(sent, stored)
    expect(error).toMatchObject({ code: 'environment_not_allowed' })
    expect(error?.extra).toEqual(extra as Record<string, string | number>)
  })
})

describe('the schema of a request', () => {
  const withProperties = (count: number) =>
    request([event(0)], {
      context: {
        properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index])),
      },
    })

  test('context holds up to 50 properties', () => {
    expect(() => validate(IngestRequest, withProperties(50))).not.toThrow()
    expect(caught(() => validate(IngestRequest, withProperties(51)))).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'context.properties' }],
    })
  })

  test('a request has at least one event', () => {
    expect(caught(() => validate(IngestRequest, request([])))?.details[0]?.path).toBe('events')
  })
})
