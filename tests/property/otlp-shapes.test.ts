/**
 * Whatever the shape of a span that carries a text of a customer or an agent, the text is in a message, or the span is counted as
 * ignored with a reason. Instructions never are.
 */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { sessionsOf } from '../../src/hear/otlp/trace.rules.ts'
import { readRequest, requestOf, span } from '../support/otlp.ts'

const SYSTEM = 'INSTRUCTIONS'
const WORDS: Record<Side, string> = { input: 'customer words', output: 'agent words' }
type Side = 'input' | 'output'

const userRoles = ['user', 'human', 'User', 'HUMAN']
const agentRoles = ['assistant', 'ai', 'model', 'Assistant']
const roleOf = (side: Side) => fc.constantFrom(...(side === 'input' ? userRoles : agentRoles))

const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(90_000)}` } }

/** A content that says `text`. */
const content = (text: string): fc.Arbitrary<unknown> => {
  const part = fc.constantFrom(
    { type: 'text', text },
    { type: 'text', content: text },
    { type: 'input_text', text },
    { type: 'output_text', text },
    { text },
  )
  const parts = fc
    .tuple(
      part,
      fc.subarray<unknown>([picture, { type: 'tool_call', name: 'f' }, { type: 'reasoning', text: 'hm' }]),
    )
    .map(([one, more]) => [one, ...more])
  return fc.oneof(
    fc.constant(text),
    parts,
    // As JSON text all parts have a type, or none has.
    parts
      .filter(([one, ...more]) => more.length === 0 || 'type' in (one as object))
      .map((list) => JSON.stringify(list)),
    part.filter((one) => 'type' in one),
  )
}

const message = (side: Side): fc.Arbitrary<unknown> =>
  fc.tuple(roleOf(side), content(WORDS[side])).chain(([role, said]) =>
    fc.constantFrom<unknown>(
      { role, content: said },
      { role, parts: Array.isArray(said) ? said : [{ type: 'text', content: said }] },
      { message: { role, content: said } },
      {
        lc: 1,
        type: 'constructor',
        id: ['langchain', side === 'input' ? 'HumanMessage' : 'AIMessage'],
        kwargs: { content: said },
      },
      { type: side === 'input' ? 'human' : 'ai', content: said },
    ),
  )

const system = fc.constantFrom<unknown[]>(
  [],
  [{ role: 'system', content: SYSTEM }],
  [{ role: 'developer', content: SYSTEM }],
)

/** What an attribute holds. */
const payload = (side: Side): fc.Arbitrary<unknown> => {
  const text = WORDS[side]
  const list = fc.tuple(system, message(side)).map(([before, one]) => [...before, one])
  const inner = side === 'input' ? 'inputs' : 'outputs'
  return fc.oneof(
    fc.constant<unknown>(text),
    fc.constant<unknown>(JSON.stringify(text)),
    list,
    list.map((messages) => ({ messages })),
    list.map((messages) => ({ [inner]: { messages }, tags: [], metadata: { thread_id: 't' } })),
    list.map((messages) => ({ args: [messages], kwargs: {} })),
    list.map((messages) => [messages]),
    fc.constantFrom<unknown>(
      { args: [text], kwargs: {} },
      { args: [], kwargs: { question: text } },
      { [inner]: { text } },
    ),
    fc
      .constantFrom('question', 'answer', 'reply', 'message', 'anything', 'data')
      .map((name) => ({ [name]: text, system: SYSTEM })),
    fc.constantFrom('a', 'b').map((name) => ({ [name]: text, other: 'x', count: 3 })),
  )
}

const ATTRIBUTES: Record<Side, readonly string[]> = {
  input: [
    'gen_ai.input.messages',
    'llm.input_messages',
    'ai.prompt',
    'gen_ai.prompt',
    'langfuse.observation.input',
    'input.value',
    'traceloop.entity.input',
  ],
  output: [
    'gen_ai.output.messages',
    'llm.output_messages',
    'ai.response.object',
    'gen_ai.completion',
    'langfuse.observation.output',
    'output.value',
    'traceloop.entity.output',
  ],
}

const attributes = (side: Side): fc.Arbitrary<Record<string, unknown>> =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...ATTRIBUTES[side]), payload(side)).map(([name, value]) => ({ [name]: value })),
    fc.tuple(roleOf(side), content(WORDS[side]), fc.nat(3)).map(([role, said, index]) => {
      const name = side === 'input' ? 'gen_ai.prompt' : 'gen_ai.completion'
      return { [`${name}.${index}.role`]: role, [`${name}.${index}.content`]: said }
    }),
    fc.tuple(roleOf(side), fc.nat(3)).map(([role, index]) => {
      const at = `llm.${side}_messages.${index}.message`
      return {
        [`${at}.role`]: role,
        [`${at}.contents.0.message_content.type`]: 'text',
        [`${at}.contents.0.message_content.text`]: WORDS[side],
      }
    }),
  )

const KINDS = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  'langfuse.observation.type',
  'traceloop.span.kind',
  'llm.request.type',
]
const VALUES = [
  'chat',
  'CHAT',
  'acompletion',
  'LLM',
  'agent',
  'UNKNOWN',
  'span',
  'chain',
  'Custom step',
  'tool',
  'embedding',
  '',
]
const kind = fc.oneof(
  fc.constant({}),
  fc.tuple(fc.constantFrom(...KINDS), fc.constantFrom(...VALUES)).map(([name, value]) => ({ [name]: value })),
)

test('a text of any shape is in a message, or its span is counted as ignored; instructions are in none', () => {
  fc.assert(
    fc.property(
      attributes('input'),
      attributes('output'),
      kind,
      fc.boolean(),
      (input, output, stated, isRoot) => {
        const parent = isRoot ? {} : { parentSpanId: 'ab'.repeat(8) }
        const request = requestOf([span(1, 0, { ...input, ...output, ...stated }, parent)])
        const { pieces, ignored, rejected } = readRequest(Buffer.from(JSON.stringify(request)))
        expect(rejected).toBe(0)
        const events = pieces
          .flatMap(({ spans }) => sessionsOf(JSON.parse(spans)))
          .flatMap((session) => session.events)
        const [question, answer] = ['user_message', 'assistant_message'].map(
          (type) => events.find((event) => event.type === type)?.content,
        )
        expect(`${question} ${answer}`).not.toContain(SYSTEM)
        const reasons = Object.values(ignored).reduce((sum, count) => sum + count, 0)
        if (reasons > 0) expect(events).toEqual([])
        else
          expect([question, answer]).toEqual([
            expect.stringContaining(WORDS.input),
            expect.stringContaining(WORDS.output),
          ])
      },
    ),
    { numRuns: 3_000 },
  )
})
