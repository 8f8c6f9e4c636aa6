/**
 * The spans of a trace may come in several requests, in any order and twice. The messages of the conversation are the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { SentSpan } from '../../src/hear/otlp/model.ts'
import { joined, sessionsOf } from '../../src/hear/otlp/trace.rules.ts'
import { openAgent } from '../support/agents.ts'
import {
  CONVERSATION,
  FRAMEWORKS,
  kept,
  parent,
  recorded,
  requestOf,
  settle,
  span,
  spansOf,
  storedEvents,
  TRACES,
} from '../support/otlp.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const messagesOf = (spans: readonly SentSpan[]) => {
  const traces = Map.groupBy(kept(requestOf(spans)), ({ traceId }) => traceId)
  const parts = [...traces.values()].flatMap(sessionsOf)
  return [...Map.groupBy(parts, ({ externalSessionId }) => externalSessionId).values()]
    .map(joined)
    .sort((a, b) => (a.externalSessionId < b.externalSessionId ? -1 : 1))
}

/** Requests, as the places of their spans, that have every span at least once. */
const deliveries = (count: number) => {
  const places = Array.from({ length: count }, (_, place) => place)
  return fc
    .tuple(
      fc.shuffledSubarray(places, { minLength: count }),
      fc.shuffledSubarray(places),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 }),
    )
    .map(([all, again, sizes]) => {
      const order = [...all, ...again]
      const requests: number[][] = []
      for (let at = 0, n = 0; at < order.length; n++) {
        const size = sizes[n % sizes.length] as number
        requests.push(order.slice(at, at + size))
        at += size
      }
      return requests
    })
}

const KINDS = ['invoke_agent', 'chat', 'execute_tool', 'agent_step'] as const

/** Any tree of spans with any times, which need not lie within those of the parent. */
const anyTrace = fc
  .array(
    fc.record({
      up: fc.integer({ min: 1, max: 4 }),
      start: fc.integer({ min: 0, max: 20 }),
      kind: fc.constantFrom(...KINDS),
      question: fc.constantFrom(undefined, 'Where is it?', 'And the other one?'),
      answer: fc.constantFrom(undefined, 'Here.', 'There.'),
      session: fc.constantFrom(undefined, 's1', 's2'),
      tokens: fc.constantFrom(undefined, 1, 20),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .map((parts) =>
    parts.map(({ up, start, kind, question, answer, session, tokens }, index) =>
      span(
        index + 1,
        start,
        {
          'gen_ai.operation.name': kind,
          ...(question && {
            'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: question }] }],
          }),
          ...(answer && {
            'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: answer }] }],
          }),
          ...(session && { 'gen_ai.conversation.id': session }),
          ...(tokens && { 'gen_ai.usage.output_tokens': tokens }),
        },
        index < up ? {} : parent(index + 1 - up),
      ),
    ),
  )

describe('the messages of a trace', () => {
  test('do not depend on the order and the repetition of its spans', () => {
    fc.assert(
      fc.property(
        anyTrace.chain((spans) => fc.tuple(fc.constant(spans), deliveries(spans.length))),
        ([spans, requests]) =>
          expect(messagesOf(requests.flat().map((place) => spans[place]!))).toEqual(messagesOf(spans)),
      ),
      { numRuns: 300 },
    )
  })
})

describe('the stored conversation', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer({ actors: true })
  })
  afterAll(() => server.stop())

  test.each(FRAMEWORKS)('of %s is the same for any requests, orders and repetitions', async (name) => {
    const spans = recorded(name).flatMap(spansOf)
    await fc.assert(
      fc.asyncProperty(deliveries(spans.length), async (requests) => {
        const agent = await openAgent(server)
        for (const places of requests)
          expect(
            await agent.client.post(TRACES, requestOf(places.map((place) => spans[place]))),
          ).toMatchObject({ status: 200, body: {} })
        await settle(server)
        const events = await storedEvents(server, agent)
        expect(events.map(({ body }) => body.content)).toEqual([...CONVERSATION])
        expect(new Set(events.map(({ session, revision }) => `${session} ${revision}`))).toEqual(
          new Set(['conversation-7 1']),
        )
      }),
      { numRuns: 3 },
    )
  })

  test('is the same where spans come after its messages were made', async () => {
    const agent = await openAgent(server)
    const spans = recorded('langfuse').flatMap(spansOf)
    const root = ({ parentSpanId }: SentSpan) => parentSpanId === undefined
    await agent.client.post(TRACES, requestOf(spans.filter(root)))
    await settle(server)
    await agent.client.post(TRACES, requestOf(spans))
    await settle(server)
    const events = await storedEvents(server, agent)
    expect(events.map(({ body }) => body.content)).toEqual([...CONVERSATION])
  })
})
