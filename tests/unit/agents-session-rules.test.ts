import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Participant, SessionStatus } from '../../src/hear/agents/model.ts'
import {
  isTerminal,
  mergeParticipants,
  nextStatus,
  processingStatusFor,
} from '../../src/hear/agents/sessions/session.rules.ts'

describe('the status of a session', () => {
  test.each<[SessionStatus | null, SessionStatus | undefined, SessionStatus]>([
    [null, undefined, 'open'],
    [null, 'open', 'open'],
    [null, 'ended', 'ended'],
    [null, 'abandoned', 'abandoned'],
    ['open', undefined, 'open'],
    ['open', 'open', 'open'],
    ['open', 'ended', 'ended'],
    ['open', 'abandoned', 'abandoned'],
    ['ended', undefined, 'ended'],
    ['ended', 'open', 'ended'],
    ['ended', 'ended', 'ended'],
    ['ended', 'abandoned', 'ended'],
    ['abandoned', undefined, 'abandoned'],
    ['abandoned', 'open', 'abandoned'],
    ['abandoned', 'ended', 'ended'],
    ['abandoned', 'abandoned', 'abandoned'],
  ])('%p, asked to be %p, is %p', (current, requested, next) => {
    expect(nextStatus(current, requested)).toBe(next)
  })

  test('ended and abandoned are terminal, open is not', () => {
    expect((['open', 'ended', 'abandoned'] as const).map(isTerminal)).toEqual([false, true, true])
  })
})

describe('the processing status in the answer of ingestion', () => {
  test.each([
    [true, false, 'pending'],
    [true, true, 'billing_blocked'],
    [false, false, 'capture_disabled'],
    [false, true, 'capture_disabled'],
  ] as const)(
    'capture %p, a response waits for credits %p: %s',
    (captureContent, waitsForCredits, status) => {
      expect(processingStatusFor({ captureContent, waitsForCredits })).toBe(status)
    },
  )
})

describe('the participants of a session', () => {
  const merge = (stored: readonly Participant[], sent: readonly Participant[]) =>
    mergeParticipants(stored, sent, 'external')

  test('are matched by externalId, and absent members never overwrite', () => {
    const stored: Participant[] = [{ externalId: 'u', email: 'a@b.example', boundary: 'internal' }]
    expect(merge(stored, [{ externalId: 'u', displayName: 'Ann' }])).toEqual([
      { externalId: 'u', email: 'a@b.example', displayName: 'Ann', boundary: 'internal' },
    ])
  })

  test('have the newest value of a member that changes', () => {
    const stored: Participant[] = [{ externalId: 'u', email: 'old@b.example', boundary: 'external' }]
    expect(merge(stored, [{ externalId: 'u', email: 'new@b.example' }])[0]?.email).toBe('new@b.example')
  })

  test('have the default boundary until one is named', () => {
    const first = merge([], [{ externalId: 'u' }])
    expect(first).toEqual([{ externalId: 'u', boundary: 'external' }])
    const named = merge(first, [{ externalId: 'u', boundary: 'internal' }])
    expect(named).toEqual([{ externalId: 'u', boundary: 'internal' }])
    expect(merge(named, [{ externalId: 'u' }])).toEqual(named)
  })

  test('without an externalId are told apart by their values', () => {
    const sent: Participant[] = [
      { companyExternalId: 'c' },
      {},
      { companyExternalId: 'c' },
      { companyExternalId: 'd' },
    ]
    const once = merge([], sent)
    expect(once).toHaveLength(3)
    expect(merge(once, sent)).toBe(once)
  })

  test('stay the same object where a request brings nothing new', () => {
    const stored = merge([], [{ externalId: 'u', displayName: 'Ann' }])
    expect(merge(stored, [])).toBe(stored)
    expect(merge(stored, [{ externalId: 'u' }])).toBe(stored)
  })

  test('do not depend on the order of agreeing requests', () => {
    const people: Participant[] = ['u1', 'u2', 'u3'].map((externalId) => ({
      externalId,
      displayName: `${externalId} name`,
      email: `${externalId}@b.example`,
      boundary: 'internal',
    }))
    const members = ['displayName', 'email', 'boundary'] as const
    /** Somebody, with some of the members that they really have. */
    const part = fc.tuple(fc.constantFrom(...people), fc.subarray([...members])).map(
      ([person, kept]): Participant => ({
        externalId: person.externalId,
        ...Object.fromEntries(kept.map((name) => [name, person[name]])),
      }),
    )
    const batches = fc.array(fc.array(part, { maxLength: 3 }), { maxLength: 6 })
    const all = batches.chain((order) =>
      fc.tuple(fc.constant(order), fc.shuffledSubarray(order, { minLength: order.length })),
    )
    fc.assert(
      fc.property(all, ([one, other]) => {
        expect(one.reduce(merge, [])).toEqual(other.reduce(merge, []))
      }),
    )
  })
})
