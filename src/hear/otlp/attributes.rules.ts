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
    'llm.user',
  ],
  userName: ['user.full_name', 'user.name'],
  userEmail: ['user.email'],
  input: [
    'gen_ai.input.messages',
    'llm.input_messages',
    'ai.prompt.messages',
    'ai.prompt',
    'gen_ai.prompt',
    'llm.prompts',
    'langfuse.observation.input',
    'langfuse.trace.input',
    'input.value',
    'traceloop.entity.input',
    'mlflow.spanInputs',
  ],
  output: [
    'gen_ai.output.messages',
    'llm.output_messages',
    'ai.response.text',
    'ai.response.object',
    'gen_ai.completion',
    'llm.choices',
    'langfuse.observation.output',
    'langfuse.trace.output',
    'output.value',
    'traceloop.entity.output',
    'mlflow.spanOutputs',
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
  /** JSON: `{"input": 20, "output": 7}`, or with the names of OpenAI. */
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

/**
 * Attribute → its value in lower case → kind of the span. The first attribute with a listed value decides. A value that is not listed
 * says nothing: frameworks have many, and programs write their own.
 */
const KINDS: readonly (readonly [attribute: string, kinds: Readonly<Record<string, SpanKind>>])[] = [
  [
    'gen_ai.operation.name',
    {
      ...listed('agent', 'invoke_agent invoke_workflow'),
      ...listed('model', 'chat generate_content text_completion'),
      ...listed(
        'other',
        'execute_tool tool create_agent embeddings embedding aembedding text_embedding retrieval retrieve search asearch rerank ' +
          'arerank plan moderation amoderation image_generation aimage_generation transcription atranscription speech aspeech',
      ),
    },
  ],
  [
    'openinference.span.kind',
    {
      ...listed('agent', 'agent'),
      ...listed('model', 'llm'),
      ...listed('chain', 'chain'),
      ...listed('other', 'tool retriever embedding reranker guardrail evaluator prompt'),
    },
  ],
  [
    'langfuse.observation.type',
    {
      ...listed('agent', 'agent'),
      ...listed('model', 'generation'),
      ...listed('chain', 'chain span'),
      ...listed('other', 'tool retriever embedding reranker guardrail evaluator event'),
    },
  ],
  [
    'ai.operationId',
    {
      ...listed('agent', 'ai.generatetext ai.streamtext ai.generateobject ai.streamobject'),
      ...listed(
        'model',
        'ai.generatetext.dogenerate ai.streamtext.dostream ai.generateobject.dogenerate ai.streamobject.dostream',
      ),
      ...listed(
        'other',
        'ai.toolcall ai.embed ai.embed.doembed ai.embedmany ai.embedmany.doembed ai.rerank ai.rerank.dorerank',
      ),
    },
  ],
  [
    'traceloop.span.kind',
    { ...listed('agent', 'workflow agent'), ...listed('chain', 'task'), ...listed('other', 'tool') },
  ],
  [
    'llm.request.type',
    { ...listed('model', 'chat completion'), ...listed('other', 'embedding embeddings rerank') },
  ],
]

function listed(kind: SpanKind, values: string): Readonly<Record<string, SpanKind>> {
  return Object.fromEntries(values.split(' ').map((value) => [value, kind]))
}

/** Attributes of calls of tools and databases. A span that has one, and no kind, speaks with no customer. */
const TOOL_SIGNS = [
  'gen_ai.tool.name',
  'gen_ai.tool.call.id',
  'tool.name',
  'ai.toolCall.name',
  'db.system',
  'db.system.name',
]

/** Attributes of calls of language models. */
const MODEL_SIGNS = [
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.prompt',
  'gen_ai.completion',
  'llm.input_messages',
  'llm.output_messages',
  'ai.prompt.messages',
  'ai.prompt',
  'ai.response.text',
  'ai.response.object',
]

/** Values of attributes by name: texts, numbers, booleans, and lists and objects of these. */
export type Attributes = ReadonlyMap<string, unknown>

export type Meaning = keyof typeof ATTRIBUTES

/** The kind that a span states; undefined where it states none that is known. */
export function statedKindOf(attributes: Attributes): SpanKind | undefined {
  for (const [attribute, kinds] of KINDS) {
    const value = stringOf(attributes.get(attribute)).trim().toLowerCase()
    if (Object.hasOwn(kinds, value)) return kinds[value]
  }
  return TOOL_SIGNS.some((name) => attributes.has(name)) ? 'other' : undefined
}

/** The kind of a span that states none, judged by what it carries. */
export function carriedKindOf(attributes: Attributes): SpanKind {
  if (MODEL_SIGNS.some((name) => attributes.has(name))) return 'model'
  const carries = (meaning: 'input' | 'output') => !valuesOf(attributes, meaning).next().done
  return carries('input') || carries('output') ? 'chain' : 'other'
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

/** The values with this meaning in the order of the table. */
export function* valuesOf(attributes: Attributes, meaning: 'input' | 'output'): Generator<unknown> {
  for (const name of ATTRIBUTES[meaning]) {
    const value = attributes.get(name)
    if (value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === ''))
      yield value
  }
}

/** Attributes that frameworks spread. */
const SPREAD = new Set<string>([...ATTRIBUTES.input, ...ATTRIBUTES.output])
const PLACE = /^([a-z_]+\.[a-z_]+)\.(\d.*)$/
/** Names within one attribute. */
const MAX_NAMES = 12

/** A list or object that is being put together. */
type Spread = Map<string, unknown>

/**
 * The attributes, with each list that is spread over `name.0.role`, `name.0.message.contents.0.message_content.text` … as one value
 * of `name`.
 */
export function withLists(attributes: Attributes): Attributes {
  const found = new Map<string, Spread>()
  for (const [key, value] of attributes) {
    const [, name, path] = PLACE.exec(key) ?? []
    if (name === undefined || path === undefined || !SPREAD.has(name) || attributes.has(name)) continue
    const names = path.split('.', MAX_NAMES + 1)
    if (names.length > MAX_NAMES) continue
    const spread = found.get(name) ?? new Map<string, unknown>()
    found.set(name, spread)
    put(spread, names, value)
  }
  if (found.size === 0) return attributes
  return new Map([...attributes, ...[...found].map(([name, spread]) => [name, plainOf(spread)] as const)])
}

function put(spread: Spread, names: readonly string[], value: unknown): void {
  let at = spread
  for (const name of names.slice(0, -1)) {
    const next = at.get(name)
    const inner: Spread = next instanceof Map ? next : new Map()
    at.set(name, inner)
    at = inner
  }
  at.set(names.at(-1) as string, value)
}

/** What was put together, with lists where all names are numbers. Their numbers may have gaps: attributes are limited in number. */
function plainOf(value: unknown): unknown {
  if (!(value instanceof Map)) return value
  const members = [...(value as Spread)].map(([name, member]) => [name, plainOf(member)] as const)
  if (!members.every(([name]) => /^\d{1,9}$/.test(name))) return Object.fromEntries(members)
  return members.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, member]) => member)
}
