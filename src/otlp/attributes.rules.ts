/**
 * The one mapping table: which attributes of which conventions mean what. The first attribute that a span has wins, so the present
 * names stand before the older ones. Pure.
 *
 * `gen_ai.*`: OpenTelemetry GenAI conventions, present and older names, and OpenLLMetry, which began with them. `llm.*`, `input.value`:
 * OpenInference. `langfuse.*`: Langfuse. `ai.*`: Vercel AI SDK 4 to 6. `traceloop.*`: OpenLLMetry.
 */
import type { SpanKind } from './model.ts'

/** Meaning → attributes. */
const ATTRIBUTES = {
  session: [
    'gen_ai.conversation.id',
    'session.id',
    'langfuse.session.id',
    'ai.telemetry.metadata.sessionId',
    'ai.telemetry.metadata.conversationId',
    'traceloop.association.properties.session_id',
    'traceloop.association.properties.conversation_id',
  ],
  userId: [
    'user.id',
    'enduser.id',
    'langfuse.user.id',
    'ai.telemetry.metadata.userId',
    'traceloop.association.properties.user_id',
  ],
  userName: ['user.full_name', 'user.name'],
  userEmail: ['user.email'],
  input: [
    'gen_ai.input.messages',
    'llm.input_messages',
    'ai.prompt.messages',
    'ai.prompt',
    'gen_ai.prompt',
    'langfuse.observation.input',
    'langfuse.trace.input',
    'input.value',
    'traceloop.entity.input',
  ],
  output: [
    'gen_ai.output.messages',
    'llm.output_messages',
    'ai.response.text',
    'ai.response.object',
    'gen_ai.completion',
    'langfuse.observation.output',
    'langfuse.trace.output',
    'output.value',
    'traceloop.entity.output',
  ],
  provider: ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system', 'ai.model.provider'],
  model: [
    'gen_ai.response.model',
    'gen_ai.request.model',
    'llm.model_name',
    'langfuse.observation.model.name',
    'ai.response.model',
    'ai.model.id',
  ],
  inputTokens: [
    'gen_ai.usage.input_tokens',
    'gen_ai.usage.prompt_tokens',
    'llm.token_count.prompt',
    'ai.usage.inputTokens',
    'ai.usage.promptTokens',
  ],
  outputTokens: [
    'gen_ai.usage.output_tokens',
    'gen_ai.usage.completion_tokens',
    'llm.token_count.completion',
    'ai.usage.outputTokens',
    'ai.usage.completionTokens',
  ],
  /** JSON: `{"input": 20, "output": 7}`. */
  usage: ['langfuse.observation.usage_details'],
  environment: [
    'deployment.environment.name',
    'deployment.environment',
    'langfuse.environment',
    'ai.telemetry.metadata.environment',
  ],
  release: ['langfuse.release', 'service.version'],
  agentVersion: ['gen_ai.agent.version', 'langfuse.version', 'service.version'],
} as const

/** Attribute → its value → kind of the span. The first attribute with a listed value decides. */
const KINDS: readonly (readonly [attribute: string, kinds: Readonly<Record<string, SpanKind>>])[] = [
  [
    'gen_ai.operation.name',
    {
      invoke_agent: 'agent',
      invoke_workflow: 'agent',
      chat: 'model',
      generate_content: 'model',
      text_completion: 'model',
    },
  ],
  ['openinference.span.kind', { AGENT: 'agent', LLM: 'model', CHAIN: 'chain' }],
  ['langfuse.observation.type', { agent: 'agent', generation: 'model', chain: 'chain', span: 'chain' }],
  [
    'ai.operationId',
    {
      'ai.generateText': 'agent',
      'ai.streamText': 'agent',
      'ai.generateObject': 'agent',
      'ai.streamObject': 'agent',
      'ai.generateText.doGenerate': 'model',
      'ai.streamText.doStream': 'model',
      'ai.generateObject.doGenerate': 'model',
      'ai.streamObject.doStream': 'model',
    },
  ],
  ['traceloop.span.kind', { workflow: 'agent', agent: 'agent', task: 'chain' }],
  ['llm.request.type', { chat: 'model', completion: 'model' }],
]

/** Attributes that say what a span is. With an unlisted value, such as that of a tool, the span makes no messages. */
const KIND_ATTRIBUTES = KINDS.map(([attribute]) => attribute)

/** Attributes that a span without a kind has as a step of an agent, whose parts are `attribute.N.…`. */
const MODEL_LISTS = ['gen_ai.prompt', 'llm.input_messages']

/** Values of attributes by name: texts, numbers, booleans, and lists and objects of these. */
export type Attributes = ReadonlyMap<string, unknown>

export type Meaning = keyof typeof ATTRIBUTES

/** The kind of a span. A root without a kind that has input or output is a `chain`. */
export function kindOf(attributes: Attributes, isRoot: boolean): SpanKind {
  for (const [attribute, kinds] of KINDS) {
    const value = stringOf(attributes.get(attribute))
    if (Object.hasOwn(kinds, value)) return kinds[value] as SpanKind
  }
  if (KIND_ATTRIBUTES.some((attribute) => attributes.has(attribute))) return 'other'
  if (MODEL_LISTS.some((name) => hasList(attributes, name))) return 'model'
  const has = (meaning: 'input' | 'output') => ATTRIBUTES[meaning].some((name) => attributes.has(name))
  return isRoot && (has('input') || has('output')) ? 'chain' : 'other'
}

/** The value where it is text, otherwise empty. `String` fails for an object with a member `toString`. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The text, number or boolean of the first attribute with this meaning as text; undefined where it is absent or blank. */
export function textOf(attributes: Attributes, meaning: Meaning): string | undefined {
  for (const name of ATTRIBUTES[meaning]) {
    const value = attributes.get(name)
    if (value === undefined || value === null || typeof value === 'object') continue
    const text = String(value)
    if (text.trim() !== '') return text
  }
  return undefined
}

/** The number of the first attribute with this meaning, where it is 0 or more. */
export function numberOf(
  attributes: Attributes,
  meaning: 'inputTokens' | 'outputTokens',
): number | undefined {
  for (const name of ATTRIBUTES[meaning]) {
    const value = attributes.get(name)
    if (value === undefined || value === null || value === '' || typeof value === 'object') continue
    const number = Number(value)
    if (Number.isFinite(number) && number >= 0) return number
  }
  return undefined
}

/** The values with this meaning in the order of the table. A list that is spread over `name.N.…` is put together. */
export function* valuesOf(attributes: Attributes, meaning: 'input' | 'output'): Generator<unknown> {
  for (const name of ATTRIBUTES[meaning]) {
    const value = attributes.get(name)
    if (value !== undefined && value !== null && value !== '') yield value
    else if (hasList(attributes, name)) yield listOf(attributes, name)
  }
}

/** Attribute → its first parts, where it is spread over several. */
const FIRST_PARTS = new Map(
  [...ATTRIBUTES.input, ...ATTRIBUTES.output].map((name) => [
    name as string,
    [`${name}.0.role`, `${name}.0.message.role`],
  ]),
)

function hasList(attributes: Attributes, name: string): boolean {
  return FIRST_PARTS.get(name)?.some((part) => attributes.has(part)) ?? false
}

const MAX_LIST = 10_000

/** `name.0.role`, `name.0.message.content`, `name.0.message.contents.0.message_content.text` … as messages. */
function listOf(attributes: Attributes, name: string): unknown[] {
  const list: unknown[] = []
  for (let index = 0; index < MAX_LIST; index++) {
    const short = `${name}.${index}.`
    const prefix = attributes.has(`${short}role`) ? short : `${short}message.`
    const role = attributes.get(`${prefix}role`)
    if (role === undefined) break
    const parts: unknown[] = []
    for (let part = 0; part < MAX_LIST; part++) {
      const text = attributes.get(`${prefix}contents.${part}.message_content.text`)
      const type = attributes.get(`${prefix}contents.${part}.message_content.type`)
      if (text === undefined && type === undefined) break
      if (text !== undefined) parts.push({ type: 'text', text })
    }
    list.push({ role, content: attributes.get(`${prefix}content`) ?? parts })
  }
  return list
}
