/** The mapping of attributes and spans to messages, case by case. */
import { describe, expect, test } from 'bun:test'
import { sessionsOf } from '../../src/hear/otlp/trace.rules.ts'
import { at, kept, keyValues, parent, requestOf, span, TRACE } from '../support/otlp.ts'

const sessions = (spans: readonly unknown[], resource = {}) => sessionsOf(kept(requestOf(spans, resource)))
const said = (spans: readonly unknown[]) =>
  sessions(spans).flatMap(({ externalSessionId, events }) =>
    events.map(
      ({ type, content }) => `${externalSessionId} ${type === 'user_message' ? '?' : '!'} ${content}`,
    ),
  )

const parts = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': 's' }
const chat = { 'gen_ai.operation.name': 'chat', 'gen_ai.conversation.id': 's' }
const asks = (...texts: string[]) => ({ 'gen_ai.input.messages': texts.map((text) => parts('user', text)) })
const answers = (text: string) => ({ 'gen_ai.output.messages': [parts('assistant', text)] })
const during = (from: number, to: number) => ({ startTimeUnixNano: at(from), endTimeUnixNano: at(to) })

describe('only the outermost spans make messages', () => {
  test('an agent, and not its model calls, tools and agents within', () => {
    expect(
      said([
        span(1, 0, { ...agent, ...asks('Q') }, during(0, 10)),
        span(2, 0, { ...chat, ...asks('Q'), ...answers('thinking') }, { ...parent(1), ...during(1, 2) }),
        span(3, 0, { ...agent, ...asks('sub'), ...answers('subanswer') }, { ...parent(1), ...during(3, 4) }),
        span(4, 0, { ...chat, ...asks('Q'), ...answers('A') }, { ...parent(1), ...during(5, 6) }),
      ]),
    ).toEqual(['s ? Q', 's ! A'])
  })

  test('an agent behind a web server whose spans are missing', () => {
    const within = span(
      2,
      0,
      { ...agent, ...asks('sub'), ...answers('no') },
      { ...parent(99), ...during(1, 2) },
    )
    expect(
      said([
        span(1, 0, { ...agent, ...asks('Q'), ...answers('A') }, { ...parent(98), ...during(0, 3) }),
        within,
      ]),
    ).toEqual(['s ? Q', 's ! A'])
  })

  test('a child whose clock runs ahead of its parent still belongs to it', () => {
    const late = span(2, 0, { ...agent, ...asks('sub'), ...answers('no') }, { ...parent(1), ...during(2, 4) })
    expect(said([span(1, 0, { ...agent, ...asks('Q'), ...answers('A') }, during(0, 3)), late])).toEqual([
      's ? Q',
      's ! A',
    ])
  })

  test('several agents of one root are turns in the order of time', () => {
    expect(
      said([
        span(1, 0, { name: 'script' }, during(0, 20)),
        span(2, 0, { ...agent, ...asks('Q1', 'Q2'), ...answers('A2') }, { ...parent(1), ...during(5, 6) }),
        span(3, 0, { ...agent, ...asks('Q1'), ...answers('A1') }, { ...parent(1), ...during(1, 2) }),
      ]),
    ).toEqual(['s ? Q1', 's ! A1', 's ? Q2', 's ! A2'])
  })

  test('the agent that takes over a conversation goes on with the turn', () => {
    expect(
      said([
        span(2, 0, { ...agent, ...asks('Q') }, { ...parent(1), ...during(1, 2) }),
        span(3, 0, { ...agent, ...asks('Q'), ...answers('A') }, { ...parent(1), ...during(3, 4) }),
      ]),
    ).toEqual(['s ? Q', 's ! A'])
  })

  test('a loop over tools without an agent is one turn, in one trace or in several', () => {
    const first = span(2, 0, { ...chat, ...asks('Q') }, { ...parent(1), ...during(1, 2) })
    const input = [parts('user', 'Q'), { role: 'assistant', parts: [{ type: 'tool_call', name: 't' }] }]
    const next = { ...chat, 'gen_ai.input.messages': input, ...answers('A') }
    expect(said([first, span(3, 0, next, { ...parent(1), ...during(3, 4) })])).toEqual(['s ? Q', 's ! A'])
    expect([said([first]), said([span(3, 0, next, during(3, 4))])]).toEqual([['s ? Q'], ['s ! A']])
  })

  test('two conversations in one trace stay apart, and the id may stand on any span of it', () => {
    const other = { ...agent, 'gen_ai.conversation.id': 't' }
    expect(
      said([
        span(2, 0, { ...agent, ...asks('Q1'), ...answers('A1') }, { ...parent(1), ...during(1, 2) }),
        span(3, 0, { ...other, ...asks('Q2'), ...answers('A2') }, { ...parent(1), ...during(3, 4) }),
      ]),
    ).toEqual(['s ? Q1', 's ! A1', 't ? Q2', 't ! A2'])
    const { 'gen_ai.conversation.id': _, ...nameless } = agent
    expect(
      said([
        span(1, 0, { 'session.id': 'root' }, during(0, 9)),
        span(2, 0, { ...nameless, ...asks('Q'), ...answers('A') }, { ...parent(1), ...during(1, 2) }),
      ]),
    ).toEqual(['root ? Q', 'root ! A'])
  })

  test('embeddings, tools and web requests make none', () => {
    for (const attributes of [
      { 'gen_ai.operation.name': 'embeddings', 'input.value': 'x', 'output.value': 'y' },
      { 'openinference.span.kind': 'TOOL', 'input.value': 'x', 'output.value': 'y' },
      { 'langfuse.observation.type': 'retriever', 'langfuse.observation.input': 'x' },
      { 'http.route': '/' },
    ])
      expect(said([span(1, 0, attributes)])).toEqual([])
  })
})

describe('names of every convention', () => {
  const messages = JSON.stringify([
    { role: 'system', content: 'S' },
    { role: 'user', content: 'Q' },
  ])
  test.each([
    ['GenAI', { ...chat, ...asks('Q'), ...answers('A') }],
    [
      'OpenLLMetry',
      {
        'session.id': 's',
        'gen_ai.prompt.0.role': 'user',
        'gen_ai.prompt.0.content': 'Q',
        'gen_ai.completion.0.role': 'assistant',
        'gen_ai.completion.0.content': 'A',
      },
    ],
    [
      'OpenLLMetry workflows',
      {
        'traceloop.span.kind': 'workflow',
        'traceloop.association.properties.session_id': 's',
        'traceloop.entity.input': '{"inputs":[],"question":"Q"}',
        'traceloop.entity.output': '"A"',
      },
    ],
    [
      'OpenInference',
      {
        'openinference.span.kind': 'LLM',
        'session.id': 's',
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.contents.0.message_content.type': 'text',
        'llm.input_messages.0.message.contents.0.message_content.text': 'Q',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'A',
      },
    ],
    [
      'OpenInference values',
      { 'openinference.span.kind': 'AGENT', 'session.id': 's', 'input.value': 'Q', 'output.value': 'A' },
    ],
    [
      'Langfuse',
      {
        'langfuse.observation.type': 'generation',
        'langfuse.session.id': 's',
        'langfuse.observation.input': messages,
        'langfuse.observation.output': '{"role":"assistant","content":"A"}',
      },
    ],
    [
      'Vercel AI SDK 4 to 6',
      {
        'ai.operationId': 'ai.streamText',
        'ai.telemetry.metadata.sessionId': 's',
        'ai.prompt': '{"system":"S","messages":[{"role":"user","content":[{"type":"text","text":"Q"}]}]}',
        'ai.response.text': 'A',
      },
    ],
    [
      'Vercel AI SDK with a prompt',
      {
        'ai.operationId': 'ai.generateText',
        'session.id': 's',
        'ai.prompt': '{"prompt":"Q"}',
        'ai.response.text': 'A',
      },
    ],
  ])('%s', (_, attributes) => {
    expect(said([span(1, 0, attributes)])).toEqual(['s ? Q', 's ! A'])
  })

  test('messages as events of the span, one each', () => {
    const events = [
      { name: 'gen_ai.system.message', attributes: keyValues({ content: 'S' }) },
      { name: 'gen_ai.user.message', attributes: keyValues({ content: 'Q' }) },
      { name: 'gen_ai.choice', attributes: keyValues({ message: '{"role":"assistant","content":"A"}' }) },
    ]
    expect(said([span(1, 0, chat, { events } as never)])).toEqual(['s ? Q', 's ! A'])
  })

  test('messages as one event of the span', () => {
    const name = 'gen_ai.client.inference.operation.details'
    const events = [{ name, attributes: keyValues({ ...asks('Q'), ...answers('A') }) }]
    expect(said([span(1, 0, chat, { events } as never)])).toEqual(['s ? Q', 's ! A'])
  })

  test('structured attributes instead of JSON text', () => {
    const text = (value: string) => ({ stringValue: value })
    const message = (role: string, content: string) => ({
      kvlistValue: {
        values: [
          { key: 'role', value: text(role) },
          { key: 'content', value: text(content) },
        ],
      },
    })
    const attributes = [
      ...keyValues(chat),
      { key: 'gen_ai.input.messages', value: { arrayValue: { values: [message('user', 'Q')] } } },
      { key: 'gen_ai.output.messages', value: { arrayValue: { values: [message('assistant', 'A')] } } },
    ]
    expect(said([span(1, 0, {}, { attributes })])).toEqual(['s ? Q', 's ! A'])
  })
})

describe('what goes with the messages', () => {
  test('environment, release, version, user, model and tokens', () => {
    const attributes = {
      ...agent,
      ...asks('Q'),
      ...answers('A'),
      'user.id': 'u',
      'user.full_name': 'Ada',
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'm',
      'gen_ai.usage.prompt_tokens': 3,
    }
    const [session] = sessions([span(1, 0, attributes)], {
      'service.version': '7',
      'deployment.environment': 'test',
    })
    expect(session).toMatchObject({
      externalSessionId: 's',
      agentVersion: '7',
      context: { environment: 'test', release: '7' },
      participants: [{ externalId: 'u', displayName: 'Ada' }],
    })
    expect(session?.events[1]).toMatchObject({
      externalEventId: `${TRACE}-0000000000000001-answer`,
      model: { provider: 'openai', name: 'm' },
      usage: { inputTokens: 3, latencyMs: 1000 },
    })
  })

  test.each([
    ['positive', undefined, 'positive'],
    ['thumbs_down', undefined, 'negative'],
    [undefined, 1, 'positive'],
    [undefined, 0, 'negative'],
  ] as const)('feedback with the label %s and the score %s is %s', (label, score, rating) => {
    const attributes = keyValues({
      'gen_ai.evaluation.name': 'user_feedback',
      ...(label && { 'gen_ai.evaluation.score.label': label }),
      ...(score !== undefined && { 'gen_ai.evaluation.score.value': score }),
    })
    const events = [{ name: 'gen_ai.evaluation.result', attributes, timeUnixNano: at(9) }]
    const [session] = sessions([span(1, 0, { ...agent, ...asks('Q'), ...answers('A') }, { events })])
    expect(session?.events[2]?.feedback).toEqual({
      targetEventExternalId: `${TRACE}-0000000000000001-answer`,
      rating,
    })
  })

  test('other evaluations are no feedback of users', () => {
    const attributes = keyValues({
      'gen_ai.evaluation.name': 'relevance',
      'gen_ai.evaluation.score.value': 0.9,
    })
    const events = [{ name: 'gen_ai.evaluation.result', attributes, timeUnixNano: at(9) }]
    const [session] = sessions([span(1, 0, { ...agent, ...asks('Q'), ...answers('A') }, { events })])
    expect(session?.events).toHaveLength(2)
  })
})
