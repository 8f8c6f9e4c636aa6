import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compileRedaction } from '../../src/hear/agents/events/redaction.ts'
import {
  sanitizeEvent,
  sanitizeParticipants,
  sanitizeSession,
} from '../../src/hear/agents/events/sanitize.ts'
import type { Event } from '../../src/hear/agents/model.ts'
import type { IngestRequest } from '../../src/hear/agents/request-model.ts'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'

const sanitize = (event: Partial<Event>, settings: Partial<typeof DEFAULT_SETTINGS> = {}) => {
  const all = { ...DEFAULT_SETTINGS, ...settings }
  return sanitizeEvent({ ...BASE, ...event }, all, compileRedaction(all))
}

const BASE: Event = {
  externalEventId: 'e1',
  sequence: 1,
  revision: 1,
  occurredAt: '2026-01-01T00:00:00Z',
  type: 'user_message',
}

const FULL: Event = {
  ...BASE,
  type: 'feedback',
  final: true,
  participantExternalId: 'CANARY participant',
  content: [{ type: 'text', text: 'a CANARY', CANARY: { deep: ['CANARY'] } }],
  model: { provider: 'CANARY', name: 'CANARY' },
  usage: { inputTokens: 1, outputTokens: 2, latencyMs: 3 },
  trace: { traceId: 'CANARY', spanId: 'CANARY' },
  feedback: {
    targetEventExternalId: 'CANARY target',
    rating: 'negative',
    labels: ['CANARY label'],
    comment: 'a CANARY comment',
  },
  context: {
    productArea: 'CANARY',
    surface: 'CANARY',
    routeTemplate: '/CANARY',
    pathname: '/CANARY',
    entryPoint: 'CANARY',
    entityType: 'CANARY',
    entityId: 'CANARY',
    environment: 'CANARY',
    release: 'CANARY',
    properties: { CANARY: 'CANARY', nested: [{ CANARY: 1 }] },
  },
}

describe('what is stored of an event', () => {
  test('an event is final unless it says otherwise', () => {
    expect(sanitize({}).final).toBe(true)
    expect(sanitize({ final: false }).final).toBe(false)
  })

  test('unknown members are dropped, free-form content and properties are kept whole', () => {
    const event = {
      ...BASE,
      extra: 1,
      model: { name: 'm', extra: 1 },
      content: { anything: [1] },
      context: { surface: 's', extra: 1, properties: { anything: { deep: true } } },
    }
    expect(sanitize(event).body).toEqual({
      content: { anything: [1] },
      model: { name: 'm' },
      context: { surface: 's', properties: { anything: { deep: true } } },
    })
  })

  test('a property called __proto__ is data', () => {
    const properties = JSON.parse('{"__proto__":1}') as Record<string, unknown>
    expect(JSON.stringify(sanitize({ context: { properties } }).body)).toBe(
      '{"context":{"properties":{"__proto__":1}}}',
    )
  })

  test('the time is stored in UTC', () => {
    expect(sanitize({ occurredAt: '2026-01-01T02:00:00.500+02:00' }).occurredAt).toBe(
      '2026-01-01T00:00:00.5Z',
    )
  })

  test('sanitising twice changes nothing more', () => {
    const settings = { redactedPatterns: ['CANARY'], redactedFields: ['deep'] }
    const once = sanitize(FULL, settings)
    const { body, ...members } = once
    expect(sanitize({ ...members, ...(body as Partial<Event>) }, settings)).toEqual(once)
  })
})

describe('visible assistant responses', () => {
  test.each<[string, Event['content'], true | undefined]>([
    ['a text', 'Hello', true],
    ['an empty text', '', undefined],
    ['a blank text', ' \n\t', undefined],
    ['no content', undefined, undefined],
    ['a text part', [{ type: 'text', text: 'Hello' }], true],
    [
      'blank text parts',
      [
        { type: 'text', text: ' ' },
        { type: 'text', text: '' },
      ],
      undefined,
    ],
    ['an image part', [{ type: 'image', url: 'https://example.com/a.png' }], true],
    ['no parts', [], undefined],
    ['an empty object', {}, undefined],
    ['only a tool call', [{ type: 'tool_use', name: 'search', input: {} }], undefined],
    ['a tool call and a text', [{ type: 'tool_use' }, { type: 'text', text: 'Done' }], true],
    ['only thoughts', [{ type: 'thinking', thinking: 'Hm' }], undefined],
    ['parts in an object', { role: 'assistant', parts: [{ type: 'text', text: 'Hi' }] }, true],
  ])('%s', (_, content, visible) => {
    expect(sanitize({ type: 'assistant_message', content }).body.visible).toBe(visible)
  })

  test('visibility is judged before content is dropped', () => {
    const body = sanitize({ type: 'assistant_message', content: 'Hello' }, { captureContent: false }).body
    expect(body).toEqual({ visible: true })
  })

  test('only an assistant message is a response', () => {
    expect(sanitize({ type: 'user_message', content: 'Hello' }).body.visible).toBeUndefined()
  })
})

describe('content capture off', () => {
  const off = { captureContent: false }

  test('keeps ids, order, type, times, model, usage and rating; drops content, comments and properties', () => {
    const sanitized = sanitize(FULL, off)
    expect(sanitized).toMatchObject({ externalEventId: 'e1', sequence: 1, revision: 1, type: 'feedback' })
    const { properties: _, ...context } = FULL.context ?? {}
    const { comment: __, ...feedback } = FULL.feedback ?? {}
    expect(sanitized.body).toEqual({
      participantExternalId: 'CANARY participant',
      model: FULL.model ?? {},
      usage: FULL.usage ?? {},
      trace: FULL.trace ?? {},
      feedback,
      context,
    })
  })

  test('drops the names of participants and keeps their ids', () => {
    const settings = { ...DEFAULT_SETTINGS, ...off }
    const participants = sanitizeParticipants(
      [{ externalId: 'u1', displayName: 'Ann', username: 'ann', email: 'a@b.example', boundary: 'internal' }],
      settings,
      compileRedaction(settings),
    )
    expect(participants).toEqual([{ externalId: 'u1', boundary: 'internal' }])
  })
})

describe('redaction of an event', () => {
  test('a pattern covers every text except the members that order and identify', () => {
    const { body, ...members } = sanitize(FULL, { redactedPatterns: ['CANARY'] })
    const kept = {
      ...body,
      participantExternalId: '',
      feedback: { ...body.feedback, targetEventExternalId: '' },
    }
    expect(JSON.stringify(kept)).not.toContain('CANARY')
    expect(members).toEqual({
      externalEventId: 'e1',
      sequence: 1,
      revision: 1,
      type: 'feedback',
      final: true,
      occurredAt: '2026-01-01T00:00:00Z',
    })
    expect(body.participantExternalId).toBe('CANARY participant')
    expect(body.feedback).toEqual({
      targetEventExternalId: 'CANARY target',
      rating: 'negative',
      labels: ['[redacted] label'],
      comment: 'a [redacted] comment',
    })
  })

  test('a pattern that matches everything leaves words and numbers of fixed type unchanged', () => {
    const { body } = sanitize(FULL, { redactedPatterns: ['(?s).+'] })
    expect(body.usage).toEqual(FULL.usage ?? {})
    expect(body.feedback?.rating).toBe('negative')
  })

  test('a canary never survives in any member', () => {
    const canary = 'CANARY'
    const text = fc.oneof(
      fc.constant(canary),
      fc.string({ maxLength: 5 }).map((around) => around + canary + around),
    )
    const json = fc.oneof(text, fc.array(text), fc.dictionary(text, fc.array(fc.dictionary(text, text))))
    const event = fc.record(
      {
        content: fc.oneof(text, fc.array(json), fc.dictionary(text, json)),
        model: fc.record({ provider: text, name: text }, { requiredKeys: [] }),
        trace: fc.record({ traceId: text, spanId: text }, { requiredKeys: [] }),
        feedback: fc.record({ labels: fc.array(text), comment: text }, { requiredKeys: [] }),
        context: fc.record(
          { entityId: text, environment: text, pathname: text, properties: fc.dictionary(text, json) },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(event, (members) => {
        expect(JSON.stringify(sanitize(members, { redactedPatterns: ['CANARY'] }))).not.toContain(canary)
      }),
    )
  })

  test('a redacted field is replaced where it is text, and left out where it cannot hold text', () => {
    const redactedFields = ['CONTENT', 'rating', 'labels', 'comment', 'usage', 'traceId', 'properties']
    expect(sanitize(FULL, { redactedFields }).body).toMatchObject({
      content: '[redacted]',
      feedback: { targetEventExternalId: 'CANARY target', comment: '[redacted]' },
      trace: { traceId: '[redacted]', spanId: 'CANARY' },
    })
    const body = sanitize(FULL, { redactedFields }).body
    expect(body.usage).toBeUndefined()
    expect(body.feedback?.rating).toBeUndefined()
    expect(body.feedback?.labels).toBeUndefined()
    expect(body.context?.properties).toBeUndefined()
  })

  test('the target of feedback stays even where feedback is a redacted field', () => {
    expect(sanitize(FULL, { redactedFields: ['feedback'] }).body.feedback).toEqual({
      targetEventExternalId: 'CANARY target',
    })
  })

  test('an allowed environment is kept, because later requests are checked against it', () => {
    const settings = { redactedPatterns: ['prod'], allowedEnvironments: ['production'] }
    const environmentOf = (environment: string) =>
      sanitize({ context: { environment } }, settings).body.context?.environment
    expect(environmentOf('production')).toBe('production')
    expect(environmentOf('prod-7')).toBe('[redacted]-7')
  })
})

describe('redaction of a session', () => {
  const request: IngestRequest = {
    agentKey: 'CANARY key',
    externalSessionId: 'CANARY session',
    agentVersion: 'CANARY 1',
    source: { sdk: 'CANARY', version: 'CANARY' },
    context: { productArea: 'CANARY' },
    participants: [{ externalId: 'CANARY id', displayName: 'CANARY', email: 'CANARY@b.example' }],
    events: [BASE],
  }

  test('covers version, source, context and participants, whose ids stay', () => {
    const settings = { ...DEFAULT_SETTINGS, redactedPatterns: ['CANARY'], redactedFields: ['email'] }
    expect(sanitizeSession(request, settings, compileRedaction(settings))).toEqual({
      agentVersion: '[redacted] 1',
      source: { sdk: '[redacted]', version: '[redacted]' },
      context: { productArea: '[redacted]' },
      participants: [{ externalId: 'CANARY id', displayName: '[redacted]', email: '[redacted]' }],
    })
  })
})
