import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  canonicalJson,
  fingerprint,
  prepareEvent,
  sameFingerprint,
} from '../../src/hear/agents/events/fingerprint.ts'
import { compileRedaction } from '../../src/hear/agents/events/redaction.ts'
import { sanitizeEvent } from '../../src/hear/agents/events/sanitize.ts'
import type { Event } from '../../src/hear/agents/model.ts'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'

const identity = compileRedaction(DEFAULT_SETTINGS)
const of = (event: Event) =>
  Buffer.from(fingerprint(sanitizeEvent(event, DEFAULT_SETTINGS, identity))).toString('hex')

const EVENT: Event = {
  externalEventId: 'e1',
  sequence: 1,
  revision: 1,
  occurredAt: '2026-01-01T00:00:00Z',
  type: 'feedback',
  participantExternalId: 'u1',
  content: 'text',
  model: { provider: 'p', name: 'n' },
  usage: { inputTokens: 1 },
  trace: { traceId: 't' },
  feedback: { targetEventExternalId: 'e0', rating: 'positive', labels: ['a', 'b'], comment: 'c' },
  context: { surface: 's', properties: { a: 1 } },
}

describe('the fingerprint', () => {
  test('is a SHA-256', () => {
    expect(Buffer.from(of(EVENT), 'hex')).toHaveLength(32)
  })

  test.each<[string, Partial<Event>]>([
    ['sequence', { sequence: 2 }],
    ['type', { type: 'other', feedback: undefined }],
    ['final', { final: false }],
    ['occurredAt', { occurredAt: '2026-01-01T00:00:00.000001Z' }],
    ['participantExternalId', { participantExternalId: 'u2' }],
    ['content', { content: 'text ' }],
    ['absent content', { content: undefined }],
    ['structure of content', { content: ['text'] }],
    ['model', { model: { provider: 'p' } }],
    ['usage', { usage: { inputTokens: 2 } }],
    ['trace', { trace: { spanId: 't' } }],
    ['rating', { feedback: { ...EVENT.feedback, rating: 'negative' } }],
    ['target', { feedback: { ...EVENT.feedback, targetEventExternalId: 'e00' } }],
    ['order of labels', { feedback: { ...EVENT.feedback, labels: ['b', 'a'] } }],
    ['comment', { feedback: { ...EVENT.feedback, comment: 'd' } }],
    ['context', { context: { surface: 's', properties: { a: 2 } } }],
  ])('changes with %s', (_, change) => {
    expect(of({ ...EVENT, ...change })).not.toBe(of(EVENT))
  })

  test.each<[string, Partial<Event>]>([
    ['the revision', { revision: 2 }],
    ['an explicit default', { final: true }],
    ['the way a time is written', { occurredAt: '2026-01-01T01:00:00.000+01:00' }],
    ['unknown members', { unknown: 1 } as Partial<Event>],
  ])('does not change with %s', (_, change) => {
    expect(of({ ...EVENT, ...change })).toBe(of(EVENT))
  })

  test('does not depend on the order of members', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.infiniteStream(fc.nat()),
        (content, order) => {
          expect(of({ ...EVENT, content: shuffled(content, order) as Event['content'] })).toBe(
            of({ ...EVENT, content }),
          )
        },
      ),
    )
  })

  test('is equal for equal bytes only', () => {
    expect(sameFingerprint(new Uint8Array([1, 2]), Buffer.from([1, 2]))).toBe(true)
    expect(sameFingerprint(new Uint8Array([1, 2]), new Uint8Array([1, 3]))).toBe(false)
    expect(sameFingerprint(new Uint8Array([1, 2]), new Uint8Array([1]))).toBe(false)
  })
})

describe('canonical JSON', () => {
  test.each([
    [{ b: 1, a: [true, null, 'x'] }, '{"a":[true,null,"x"],"b":1}'],
    [{ b: { d: 1, c: 2 } }, '{"b":{"c":2,"d":1}}'],
    [[{ b: 1, a: 2 }], '[{"a":2,"b":1}]'],
    [{ b: undefined, a: 1 }, '{"a":1}'],
    [JSON.parse('{"b":1,"__proto__":{"y":1,"x":2}}') as unknown, '{"__proto__":{"x":2,"y":1},"b":1}'],
  ])('%j', (value, text) => {
    expect(canonicalJson(value)).toBe(text)
  })

  test('is the same value as JSON, and the same text for the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.infiniteStream(fc.nat()), (value, order) => {
        const text = canonicalJson(value)
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
        expect(canonicalJson(shuffled(value, order))).toBe(text)
      }),
    )
  })

  test('of the body is stored as it is, and storing does not change it', () => {
    const event = sanitizeEvent(EVENT, DEFAULT_SETTINGS, identity)
    const before = JSON.stringify(event)
    expect(prepareEvent(event).body).toBe(canonicalJson(event.body))
    expect(JSON.stringify(event)).toBe(before)
  })
})

/** The same value with its members in another order, at every level. */
function shuffled(value: unknown, order: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, order))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => ({
    name,
    member: shuffled(member, order),
    rank: order.next().value as number,
  }))
  return Object.fromEntries(members.sort((a, b) => a.rank - b.rank).map(({ name, member }) => [name, member]))
}
