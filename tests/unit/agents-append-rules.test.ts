/** The pure rules of appending: derived ids, and numbers behind the stored events. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type PreparedEvent, prepareEvent } from '../../src/hear/agents/events/fingerprint.ts'
import {
  idsOf,
  type KnownRevision,
  type NumberInput,
  numberEvents,
  placesOf,
  withIds,
} from '../../src/hear/agents/ingest/append.rules.ts'
import type { AppendEvent } from '../../src/hear/agents/model.ts'
import { AppError } from '../../src/platform/errors.ts'

const said = (type: string, content: string): AppendEvent => ({ type, content })
const user = (content: string) => said('user_message', content)
const assistant = (content: string) => said('assistant_message', content)

describe('derived ids', () => {
  test('the same sentence of the same role has another id each time', () => {
    const ids = idsOf([user('yes'), assistant('yes'), user('yes'), user('no')])
    expect(new Set(ids).size).toBe(4)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{64}$/)
  })

  test('of a longer history begin with those of the shorter one', () => {
    const event = fc.tuple(fc.constantFrom(user, assistant), fc.constantFrom('yes', 'no', ''))
    fc.assert(
      fc.property(fc.array(event), fc.nat(), (drawn, cut) => {
        const history = drawn.map(([by, text]) => by(text))
        const part = history.slice(0, cut)
        expect(idsOf(history).slice(0, part.length)).toEqual([...idsOf(part)])
        expect(new Set(idsOf(history)).size).toBe(history.length)
      }),
    )
  })

  test('depend on neither the order of members nor the time nor the participant', () => {
    const plain = { type: 'user_message', content: { a: 1, b: 2 } }
    const other = {
      content: { b: 2, a: 1 },
      type: 'user_message',
      occurredAt: '2026-01-02T09:00:00Z',
      participantExternalId: 'p',
    }
    expect(idsOf([plain])).toEqual(idsOf([other]))
  })

  test('of feedback depend on its target and not on its rating', () => {
    const feedback = (targetEventExternalId: string, rating: 'positive' | 'negative'): AppendEvent => ({
      type: 'feedback',
      feedback: { targetEventExternalId, rating },
    })
    expect(idsOf([feedback('a', 'positive')])).toEqual(idsOf([feedback('a', 'negative')]))
    expect(idsOf([feedback('a', 'positive')])).not.toEqual(idsOf([feedback('b', 'positive')]))
  })

  test('are given to events without an id only', () => {
    const request = {
      agentKey: 'k',
      externalSessionId: 's',
      events: [{ ...user('a'), externalEventId: 'm1' }, user('a')],
    }
    const ids = withIds(request).events.map((event) => event.externalEventId)
    expect(ids).toEqual(['m1', ...idsOf([user('a')])])
  })
})

const EARLY = '2026-01-02T09:00:00Z'
const LATE = '2026-03-04T05:06:07Z'

/** An event before it is numbered. */
function prepared(
  externalEventId: string,
  content: string,
  occurredAt = '1970-01-01T00:00:00Z',
): PreparedEvent {
  const type = 'user_message'
  return prepareEvent({
    externalEventId,
    sequence: 0,
    revision: 1,
    type,
    final: true,
    occurredAt,
    body: { content },
  })
}

/** A revision as it is stored. */
function stored(
  id: string,
  content: string,
  sequence: number,
  revision = 1,
  settingsVersion = 1,
): KnownRevision {
  const { event } = prepared(id, content, EARLY)
  const { fingerprint } = prepareEvent({ ...event, sequence })
  return { sequence, revision, occurredAt: EARLY, fingerprint, settingsVersion }
}

function number(events: readonly PreparedEvent[], more: Partial<NumberInput> = {}) {
  return numberEvents({
    events,
    timed: events.map(() => false),
    now: LATE,
    highest: -1,
    settingsVersion: 1,
    known: new Map(),
    bodies: new Map(),
    redacts: false,
    ...more,
  })
}

const placed = (events: readonly PreparedEvent[], more: Partial<NumberInput> = {}) =>
  placesOf(number(events, more).events ?? []).map(
    ({ externalEventId, sequence, revision }) => `${externalEventId} ${sequence} r${revision}`,
  )

describe('numbers', () => {
  test.each([
    ['a new session starts with 1', -1, ['a 1 r1', 'b 2 r1']],
    ['a session that started with 0 goes on with 1', 0, ['a 1 r1', 'b 2 r1']],
    ['new events follow the highest sequence', 41, ['a 42 r1', 'b 43 r1']],
  ])('%s', (_, highest, expected) => {
    expect(placed([prepared('a', 'x'), prepared('b', 'y')], { highest })).toEqual(expected)
  })

  test('the same content is a duplicate, other content the next revision in the old place', () => {
    const known = new Map([['a', [stored('a', 'x', 7, 3)]]])
    const events = [prepared('a', 'x'), prepared('b', 'y'), prepared('a', 'z')]
    expect(placed(events, { highest: 9, known })).toEqual(['a 7 r3', 'b 10 r1', 'a 7 r4'])
  })

  test('the content of a superseded revision is a duplicate of it', () => {
    const known = new Map([['a', [stored('a', 'new', 7, 2), stored('a', 'old', 7, 1)]]])
    expect(placed([prepared('a', 'old')], { highest: 7, known })).toEqual(['a 7 r1'])
  })

  test('a duplicate keeps time and fingerprint; a new event gets the time of the service', () => {
    const one = stored('a', 'x', 7)
    const known = new Map([['a', [one]]])
    const { events } = number([prepared('a', 'x', LATE), prepared('b', 'y')], {
      known,
      timed: [true, false],
      highest: 7,
    })
    expect(events?.[0]).toMatchObject({ event: { occurredAt: EARLY }, fingerprint: one.fingerprint })
    expect(events?.[1]).toMatchObject({ event: { occurredAt: LATE } })
  })

  test('a revision has the time that was sent, or else keeps the stored one', () => {
    const known = new Map([['a', [stored('a', 'x', 7)]]])
    const timeOf = (timed: boolean) =>
      number([prepared('a', 'z', LATE)], { known, timed: [timed], highest: 7 }).events?.[0]?.event.occurredAt
    expect([timeOf(true), timeOf(false)]).toEqual([LATE, EARLY])
  })

  test('an event that is twice in a request is one event', () => {
    const events = [prepared('a', 'x'), prepared('a', 'x'), prepared('a', 'z'), prepared('a', 'x')]
    expect(placed(events)).toEqual(['a 1 r1', 'a 1 r1', 'a 1 r2', 'a 1 r1'])
  })

  test('a revision of the same request needs no other rules, because the same process has redacted it', () => {
    const events = [prepared('a', 'x'), prepared('a', 'z'), prepared('a', 'x')]
    expect(placed(events, { redacts: true })).toEqual(['a 1 r1', 'a 1 r2', 'a 1 r1'])
  })

  test('what other settings sanitised is compared under these', () => {
    const known = new Map([['a', [stored('a', 'secret', 7, 1, 4)]]])
    const events = [prepared('a', '[redacted]')]
    expect(number(events, { known, highest: 7 })).toEqual({ events: null, missing: [4] })
    const then = (content: string) => {
      const { body } = prepared('a', content)
      return new Map([[4, { 1: [], 2: [], 3: [body] }]])
    }
    expect(placed(events, { known, highest: 7, bodies: then('secret') })).toEqual(['a 7 r1'])
    expect(placed(events, { known, highest: 7, bodies: then('other') })).toEqual(['a 7 r2'])
  })

  test.each([
    [[1], true],
    [[2], true],
    [[3], true],
    [[], false],
  ] as const)(
    'what versions %p of the rules redact to the stored text is the same',
    (same: readonly number[], isSame) => {
      const known = new Map([['a', [stored('a', 'secret', 7)]]])
      const events = [prepared('a', '[redacted]')]
      expect(number(events, { known, highest: 7, redacts: true })).toEqual({ events: null, missing: [1] })
      const body = (version: number) => [
        prepared('a', same.some((one) => one === version) ? 'secret' : 'other').body,
      ]
      const bodies = new Map([[1, { 1: body(1), 2: body(2), 3: body(3) }]])
      expect(placed(events, { known, highest: 7, redacts: true, bodies })).toEqual([
        isSame ? 'a 7 r1' : 'a 7 r2',
      ])
    },
  )

  test('where no number is left the request is refused', () => {
    const codeOf = (more: Partial<NumberInput>) => {
      try {
        return number([prepared('a', 'x')], more)
      } catch (error) {
        return error instanceof AppError ? error.code : error
      }
    }
    const most = Number.MAX_SAFE_INTEGER
    expect(codeOf({ highest: most })).toBe('sequence_occupied')
    expect(codeOf({ highest: 1, known: new Map([['a', [stored('a', 'y', 1, most)]]]) })).toBe('event_changed')
  })
})
