/** Recorded traces of real frameworks: each becomes the same conversation. */
import { describe, expect, test } from 'bun:test'
import { joined, sessionsOf } from '../../src/hear/otlp/trace.rules.ts'
import { CONVERSATION, FRAMEWORKS, kept, PYTHON_FRAMEWORKS, recorded } from '../support/otlp.ts'

describe('a conversation of ten turns', () => {
  // LiteLLM exports no id of a conversation, so each of its calls is a session of its own.
  test('recorded with python-litellm-otel is ten sessions with a question and an answer each', () => {
    const spans = recorded('python-litellm-otel').flatMap((request) => kept(request))
    const traces = [...Map.groupBy(spans, ({ traceId }) => traceId).values()]
    const sessions = traces.flatMap(sessionsOf)
    expect(new Set(sessions.map(({ externalSessionId }) => externalSessionId)).size).toBe(10)
    expect(joined(sessions).events.map(({ content }) => content)).toEqual([...CONVERSATION])
    expect(joined(sessions).participants).toEqual([{ externalId: 'customer-77' }])
  })

  const withSessions = PYTHON_FRAMEWORKS.filter((name) => name !== 'python-litellm-otel')
  test.each([...FRAMEWORKS, ...withSessions])(
    'recorded with %s is one session with its ten questions and answers',
    (name) => {
      const spans = recorded(name).flatMap((request) => kept(request))
      const traces = [...Map.groupBy(spans, ({ traceId }) => traceId).values()]
      expect(traces).toHaveLength(10)
      const sessions = traces.flatMap(sessionsOf)
      expect(new Set(sessions.map(({ externalSessionId }) => externalSessionId))).toEqual(
        new Set(['conversation-7']),
      )
      const session = joined(sessions)
      expect(session.events.map(({ content }) => content)).toEqual([...CONVERSATION])
      expect(session.events.map(({ type }) => type)).toEqual(
        CONVERSATION.map((_, index) => (index % 2 === 0 ? 'user_message' : 'assistant_message')),
      )
      expect(session.participants).toEqual([{ externalId: 'customer-77' }])
      expect(new Set(session.events.map(({ externalEventId }) => externalEventId)).size).toBe(20)
    },
  )

  test.each([
    ['ai-sdk-7', { provider: 'mock', name: 'mock-1' }, { inputTokens: 40, outputTokens: 14 }],
    ['openai-agents', { provider: 'openai', name: 'mock-1' }, { inputTokens: 40, outputTokens: 14 }],
    ['langfuse', { name: 'mock-1' }, { inputTokens: 20, outputTokens: 7 }],
    ['python-langfuse', { name: 'mock-1' }, { inputTokens: 20, outputTokens: 7 }],
    ['python-pydantic-ai', { provider: 'openai', name: 'mock-1' }, { inputTokens: 40, outputTokens: 14 }],
    [
      'python-openllmetry-langchain',
      { provider: 'langgraph', name: 'mock-1' },
      { inputTokens: 40, outputTokens: 14 },
    ],
  ] as const)(
    '%s tells the model, and the tokens of all calls of the turn with the tool',
    (name, model, usage) => {
      const spans = recorded(name).flatMap((request) => kept(request))
      const [, , third] = [...Map.groupBy(spans, ({ traceId }) => traceId).values()]
      const answer = sessionsOf(third ?? [])[0]?.events[1]
      expect(answer?.model).toEqual(model)
      expect(answer?.usage).toMatchObject(usage)
    },
  )
})
