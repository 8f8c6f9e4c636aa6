/** Spans as frameworks and programs of every kind write them: unknown kinds, contents as JSON text, structured payloads, cut JSON. */
import { describe, expect, test } from 'bun:test'
import { sessionsOf } from '../../src/hear/otlp/trace.rules.ts'
import { kept, keyValues, parent, readRequest, requestOf, span } from '../support/otlp.ts'

/** What is said in a trace of these spans: questions with `?`, answers with `!`. */
const said = (spans: readonly unknown[]) =>
  sessionsOf(kept(requestOf(spans))).flatMap(({ events }) =>
    events.map(({ type, content }) => `${type === 'user_message' ? '?' : '!'} ${content}`),
  )
const saidBy = (attributes: Readonly<Record<string, unknown>>) => said([span(1, 0, attributes)])

const messages = {
  'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'Q' }] }],
  'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'text', content: 'A' }] }],
}
const values = { 'input.value': 'Q', 'output.value': 'A' }

describe('a kind that is not listed says nothing', () => {
  test.each([
    ['gen_ai.operation.name', 'acompletion', messages],
    ['gen_ai.operation.name', 'completion', messages],
    ['gen_ai.operation.name', 'responses', messages],
    ['gen_ai.operation.name', 'anthropic_messages', messages],
    ['gen_ai.operation.name', 'generate_text', values],
    ['gen_ai.operation.name', 'Answer the customer', values],
    ['gen_ai.operation.name', 'CHAT', messages],
    [
      'llm.request.type',
      'responses',
      { 'llm.input_messages': messages['gen_ai.input.messages'], 'output.value': 'A' },
    ],
    ['openinference.span.kind', 'llm', values],
    ['openinference.span.kind', 'UNKNOWN', values],
    [
      'langfuse.observation.type',
      'GENERATION',
      { 'langfuse.observation.input': 'Q', 'langfuse.observation.output': 'A' },
    ],
    [
      'langfuse.observation.type',
      'step',
      { 'langfuse.observation.input': 'Q', 'langfuse.observation.output': 'A' },
    ],
    ['traceloop.span.kind', 'unknown', { 'traceloop.entity.input': 'Q', 'traceloop.entity.output': 'A' }],
    ['ai.operationId', 'ai.somethingNew', { 'ai.prompt': '{"prompt":"Q"}', 'ai.response.text': 'A' }],
  ])('%s = %s', (attribute, value, content) => {
    expect(saidBy({ ...content, [attribute]: value })).toEqual(['? Q', '! A'])
  })

  test('it is judged before that of an older convention, and does not hide it', () => {
    const both = { 'gen_ai.operation.name': 'custom', 'openinference.span.kind': 'TOOL' }
    expect(saidBy({ ...both, ...values })).toEqual([])
  })

  test('within a trace, a step of an unknown kind speaks only where nothing else does', () => {
    const step = span(
      2,
      0,
      { 'openinference.span.kind': 'UNKNOWN', 'input.value': 'query', 'output.value': 'documents' },
      parent(9),
    )
    expect(said([step])).toEqual(['? query', '! documents'])
    expect(said([step, span(3, 2, messages, parent(9))])).toEqual(['? Q', '! A'])
    const agent = span(1, 0, { 'gen_ai.operation.name': 'invoke_agent' })
    expect(said([agent, { ...step, ...parent(1) }])).toEqual(['? query', '! documents'])
    expect(said([agent, { ...step, ...parent(1) }, span(3, 0, messages, parent(1))])).toEqual(['? Q', '! A'])
  })

  test.each([
    { 'gen_ai.operation.name': 'execute_tool' },
    { 'gen_ai.operation.name': 'aembedding' },
    { 'openinference.span.kind': 'retriever' },
    { 'langfuse.observation.type': 'EVENT' },
    { 'gen_ai.tool.name': 'find' },
    { 'ai.operationId': 'ai.toolCall' },
    { 'db.system.name': 'postgresql' },
  ])('%j speaks with no customer', (attributes) => {
    expect(saidBy({ ...values, ...attributes })).toEqual([])
  })
})

const picture = Buffer.alloc(60_000).toString('base64')
const PICTURE = '[image: image/png, 60 kB]'

describe('parts of a content', () => {
  const text = { type: 'text', text: 'What is this?' }
  test.each([
    [
      'chat completions',
      [text, { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }],
    ],
    [
      'responses',
      [
        { type: 'input_text', text: text.text },
        { type: 'input_image', image_url: `data:image/png;base64,${picture}` },
      ],
    ],
    [
      'Anthropic',
      [text, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture } }],
    ],
    ['Vercel AI SDK', [text, { type: 'file', mediaType: 'image/png', data: picture }]],
    ['LangChain', [text, { type: 'image', source_type: 'base64', mime_type: 'image/png', data: picture }]],
    ['Gemini', [{ text: text.text }, { inlineData: { mimeType: 'image/png', data: picture } }]],
    [
      'GenAI',
      [
        { type: 'text', content: text.text },
        { type: 'blob', modality: 'image', mime_type: 'image/png', content: picture },
      ],
    ],
  ])('of %s, as JSON text and as they are: a picture is named, not kept', (_, parts) => {
    const expected = [`? ${text.text}\n${PICTURE}`]
    const json = JSON.stringify(parts)
    expect(saidBy({ 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': json })).toEqual(expected)
    const named = {
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': json,
    }
    expect(saidBy(named)).toEqual(expected)
    expect(
      saidBy({ 'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: json }] }] }),
    ).toEqual(expected)
    expect(saidBy({ 'gen_ai.input.messages': [{ role: 'user', content: parts }] })).toEqual(expected)
    expect(saidBy({ 'input.value': json })).toEqual(expected)
  })

  test('other media, and media without type or size', () => {
    const parts = [
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'input_audio', input_audio: { format: 'wav', data: picture } },
      { type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${picture}` },
      { type: 'uri', modality: 'video', uri: 'https://example.com/a.mp4' },
    ]
    expect(saidBy({ 'gen_ai.input.messages': [{ role: 'user', content: parts }] })).toEqual([
      '? [image]\n[audio: wav, 60 kB]\n[file: application/pdf, 60 kB]\n[video]',
    ])
  })

  test('spread over attributes, with a picture', () => {
    const at = 'llm.input_messages.0.message'
    const attributes = {
      'openinference.span.kind': 'LLM',
      [`${at}.role`]: 'user',
      [`${at}.contents.0.message_content.type`]: 'text',
      [`${at}.contents.0.message_content.text`]: text.text,
      [`${at}.contents.1.message_content.type`]: 'image',
      [`${at}.contents.1.message_content.image.image.url`]: `data:image/png;base64,${picture}`,
    }
    expect(saidBy(attributes)).toEqual([`? ${text.text}\n${PICTURE}`])
  })

  test('a list that is spread over attributes may have lost its beginning', () => {
    const lost = {
      'gen_ai.prompt.7.role': 'user',
      'gen_ai.prompt.7.content': 'Q',
      'gen_ai.completion.0.content': 'A',
    }
    expect(saidBy(lost)).toEqual(['? Q', '! A'])
  })

  test('JSON that a customer typed is what was said', () => {
    for (const typed of [
      '[{"type":"invoice","text":"x"}]',
      '{"a": 1}',
      '[{"a": 1',
      '[urgent] Where is it?',
      '{"type":"text"}',
    ])
      expect(saidBy({ 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': typed })).toEqual([
        `? ${typed}`,
      ])
  })
})

describe('structured payloads', () => {
  const root = { 'openinference.span.kind': 'CHAIN' }
  test.each([
    ['a reply', { reply: 'A' }, 'A'],
    ['a message', { message: 'A' }, 'A'],
    ['a text of any name', { summary_for_customer: 'A' }, 'A'],
    ['a text beside details', { utterance: 'A', session_id: 's-1', type: 'reply' }, 'A'],
    ['several texts', { city: 'Oslo', country: 'Norway' }, '{"city":"Oslo","country":"Norway"}'],
    ['a number', { score: 7 }, '{"score":7}'],
    ['a name only', { name: 'Ada' }, '{"name":"Ada"}'],
    ['question and answer', { input: 'Q', output: 'A' }, 'A'],
    ['question, history and answer', { question: 'Q', chat_history: [], answer: 'A' }, 'A'],
    [
      'LangGraph',
      {
        outputs: {
          messages: [
            { type: 'human', content: 'Q' },
            { type: 'ai', content: 'A' },
          ],
        },
        kwargs: {},
      },
      'A',
    ],
    ['a refusal', { choices: [{ message: { role: 'assistant', content: null, refusal: 'A' } }] }, 'A'],
    ['a refusal as a part', [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'A' }] }], 'A'],
    ['Gemini', { candidates: [{ content: { role: 'model', parts: [{ text: 'A' }] } }] }, 'A'],
    ['a message with structured content', { role: 'assistant', content: { city: 'Oslo' } }, 'Oslo'],
  ])('as an output: %s', (_, payload, expected) => {
    expect(saidBy({ ...root, 'output.value': payload })).toEqual([`! ${expected}`])
    expect(saidBy({ 'ai.operationId': 'ai.generateObject', 'ai.response.object': payload })).toEqual([
      `! ${expected}`,
    ])
  })

  test.each([
    ['arguments of a function', { args: ['Q'], kwargs: {} }, 'Q'],
    [
      'the question and the history',
      {
        args: [
          'Q',
          [
            { role: 'user', content: 'P' },
            { role: 'assistant', content: 'A' },
          ],
        ],
      },
      'Q',
    ],
    ['the messages and a name', { args: [[{ role: 'user', content: 'Q' }], 'gpt-x'] }, 'Q'],
    [
      'a history beside the question',
      {
        messages: [
          { role: 'user', content: 'P' },
          { role: 'assistant', content: 'A' },
        ],
        question: 'Q',
      },
      'Q',
    ],
    ['named arguments', { args: [], kwargs: { question: 'Q', session_id: 's' } }, 'Q'],
    ['several arguments', { args: ['Q', 'chat-1'], kwargs: {} }, '{"args":["Q","chat-1"],"kwargs":{}}'],
    [
      'LangGraph',
      { inputs: { messages: [{ type: 'human', content: 'Q' }] }, tags: [], metadata: { thread_id: 't' } },
      'Q',
    ],
    [
      'pairs of role and text',
      {
        messages: [
          ['system', 'S'],
          ['user', 'Q'],
        ],
      },
      'Q',
    ],
    [
      'messages as JSON text',
      { input: '{"messages":[{"role":"system","content":"S"},{"role":"user","content":"Q"}]}' },
      'Q',
    ],
    ['instructions beside the text', { system_prompt: 'S', customer_says: 'Q' }, 'Q'],
    ['instructions beside several texts', { instructions: 'S', a: 'Q', b: 'R' }, '{"a":"Q","b":"R"}'],
    [
      'roles in capitals',
      [
        { role: 'SYSTEM', content: 'S' },
        { role: 'User', content: 'Q' },
      ],
      'Q',
    ],
    ['an empty list beside the text', { messages: [], input: 'Q' }, 'Q'],
  ])('as an input: %s', (_, payload, expected) => {
    expect(saidBy({ ...root, 'input.value': payload })).toEqual([`? ${expected}`])
  })

  test('a guess does not hide the words of the model call', () => {
    const call = span(2, 0, messages, parent(1))
    const handler = {
      'input.value': { method: 'POST', path: '/chat' },
      'output.value': { status: 200, ok: true },
    }
    expect(said([span(1, 0, handler), call])).toEqual(['? Q', '! A'])
  })
})

describe('JSON whose end was cut off', () => {
  const json = JSON.stringify([
    { role: 'system', content: 'SECRET instructions' },
    { role: 'user', content: 'Where is my invoice?' },
  ])

  test('at any length: what can be read of the message, or a mark, and never the instructions', () => {
    for (let length = 2; length < json.length; length++) {
      const [question] = saidBy({ 'openinference.span.kind': 'LLM', 'input.value': json.slice(0, length) })
      expect(question).toMatch(/^\? .*\[cut\]$|^\? Where is my invoice\?$|^\? \[$|^\? \[\{$/)
      expect(question).not.toContain('SECRET')
      expect(question).not.toContain('instructions')
    }
    expect(saidBy({ 'input.value': json.slice(0, -7) })).toEqual(['? Where is my invo [cut]'])
  })

  test('a text before its role is not taken for the customer’s', () => {
    const cut = '[{"content":"SECRET instructions'
    expect(saidBy({ 'gen_ai.input.messages': cut })).toEqual(['? [cut]'])
    expect(saidBy({ 'input.value': '{"system":"SECRET instructions' })).toEqual(['? [cut]'])
  })

  test('a whole attribute is taken before one that was cut', () => {
    const attributes = { 'gen_ai.input.messages': '[{"role":"system","content":"SE', 'input.value': 'Q' }
    expect(saidBy(attributes)).toEqual(['? Q'])
  })

  test('an answer, and parts', () => {
    expect(saidBy({ 'output.value': '{"reply":"Under Bill' })).toEqual(['! Under Bill [cut]'])
    const parts = {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': '[{"type":"text","text":"Where is',
    }
    expect(saidBy(parts)).toEqual(['? Where is [cut]'])
  })

  test('JSON with small faults is read, too', () => {
    expect(
      saidBy({ 'input.value': '{"temperature": NaN, "messages": [{"role":"user","content":"a\nb"}]}' }),
    ).toEqual(['? a\nb'])
  })
})

describe('text that cannot be stored', () => {
  test.each([
    ['half of an emoji', 'a\ud83d', 'a\ufffd'],
    ['U+0000', 'a\u0000b', 'ab'],
  ])('%s costs no more than itself', (_, text, expected) => {
    for (const escaped of [false, true]) {
      const value = escaped ? JSON.stringify([{ role: 'user', content: text }]) : text
      expect(saidBy({ 'input.value': value, 'output.value': 'A', 'session.id': text })).toEqual([
        `? ${expected}`,
        '! A',
      ])
    }
    const raw = keyValues({ [text]: text, 'input.value': 'Q', 'user.id': text })
    expect(kept(requestOf([span(1, 0, {}, { attributes: raw })], { 'service.version': text }))).toMatchObject(
      [{ question: 'Q', user: { id: expected }, release: expected }],
    )
  })

  test('a number out of range concerns its attribute only', () => {
    const json = JSON.stringify(
      requestOf([span(1, 0, { ...values, 'gen_ai.usage.input_tokens': 7 })]),
    ).replace('7}', '1e400}')
    expect(readRequest(Buffer.from(json)).rejected).toBe(0)
  })

  test('bytes that are no UTF-8 are replaced', () => {
    const json = Buffer.from(JSON.stringify(requestOf([span(1, 0, { 'input.value': 'a#b' })])))
    json[json.indexOf('#')] = 0xff
    expect(readRequest(json).pieces[0]?.spans).toContain('a\ufffdb')
  })
})

describe('what is ignored is counted, and named where words are missed', () => {
  const ignored = (attributes: Readonly<Record<string, unknown>>) => {
    const { ignored, wordless, rejected } = readRequest(
      Buffer.from(JSON.stringify(requestOf([span(1, 0, attributes)]))),
    )
    const reasons = Object.entries(ignored).filter(([, count]) => count > 0)
    return { reason: reasons.map(([reason]) => reason).join(), isNamed: wordless !== null, rejected }
  }
  test.each([
    ['words', values, '', false],
    ['a tool', { 'openinference.span.kind': 'TOOL', ...values }, 'tool', false],
    ['a web request', { 'http.request.method': 'GET' }, 'no_content', false],
    [
      'a step between tools',
      { 'gen_ai.output.messages': [{ role: 'assistant', parts: [{ type: 'tool_call', name: 't' }] }] },
      'tool',
      false,
    ],
    [
      'empty payloads',
      { 'input.value': '{"args":[],"kwargs":{}}', 'output.value': 'null' },
      'no_content',
      false,
    ],
    [
      'a role that is not known',
      { 'gen_ai.input.messages': [{ role: 'narrator', content: 'Q' }] },
      'no_words',
      true,
    ],
  ])('%s', (_, attributes, reason, isNamed) => {
    expect(ignored(attributes)).toEqual({ reason, isNamed, rejected: 0 })
  })
})

describe('times in other units', () => {
  const seconds = 1_767_340_800
  test.each([
    ['milliseconds', 1e3],
    ['microseconds', 1e6],
    ['nanoseconds', 1e9],
    ['seconds', 1],
  ])('%s are recognised', (_, factor) => {
    const times = {
      startTimeUnixNano: String(seconds * factor),
      endTimeUnixNano: String((seconds + 2) * factor),
    }
    expect(kept(requestOf([span(1, 0, values, times)]))).toMatchObject([
      { start: seconds * 1e6, end: (seconds + 2) * 1e6 },
    ])
  })
})
