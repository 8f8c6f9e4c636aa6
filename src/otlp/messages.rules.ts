/**
 * Reads messages out of the shapes in which frameworks record input and output: GenAI conventions, OpenAI chat completions and
 * responses, Vercel AI SDK, LangChain (serialised or plain), Gemini, and plain text. Pure; the cost is linear in the size.
 */

export interface Message {
  readonly role: 'user' | 'assistant' | 'other'
  /** Texts of its parts, joined; empty for a message that only calls tools. */
  readonly text: string
}

const ROLES: ReadonlyMap<string, Message['role']> = new Map([
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['ai', 'assistant'],
  ['model', 'assistant'],
  ['HumanMessage', 'user'],
  ['HumanMessageChunk', 'user'],
  ['AIMessage', 'assistant'],
  ['AIMessageChunk', 'assistant'],
])
/** Roles that introduce a conversation and are no part of it. */
const INSTRUCTIONS = new Set(['system', 'developer', 'SystemMessage'])
/** Members that hold messages or one text, in the order in which they are tried. */
const LISTS = ['messages', 'choices', 'generations', 'output_messages', 'contents']
const TEXTS = [
  'input',
  'question',
  'query',
  'prompt',
  'output',
  'answer',
  'result',
  'response',
  'text',
  'content',
]
const MAX_DEPTH = 12

/**
 * The messages of a recorded input or output, without instructions. A plain text is one message of `role`.
 * JSON within a text is read.
 */
export function readMessages(value: unknown, role: 'user' | 'assistant'): Message[] {
  const messages: Message[] = []
  collect(typeof value === 'string' ? parsed(value) : value, role, messages, 0)
  return messages
}

/** The value of JSON text that is a list or an object; otherwise the text. */
function parsed(text: string): unknown {
  if (!/^\s*[[{"]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

type Members = Readonly<Record<string, unknown>>

function collect(value: unknown, role: 'user' | 'assistant', into: Message[], depth: number): void {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (value.trim() !== '') into.push({ role, text: value })
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, role, into, depth + 1)
  } else if (typeof value === 'object' && value !== null) {
    collectObject(value as Members, role, into, depth)
  }
}

function collectObject(value: Members, role: 'user' | 'assistant', into: Message[], depth: number): void {
  const said = roleOf(value)
  if (said !== undefined) {
    if (INSTRUCTIONS.has(said)) return
    into.push({ role: ROLES.get(said) ?? 'other', text: contentOf(value) })
    return
  }
  // Items of OpenAI’s responses that are no messages: calls of tools and their results.
  if (typeof value.type === 'string' && value.type !== 'message' && value.type !== 'text') {
    into.push({ role: 'other', text: '' })
    return
  }
  const inner = [value.message, value.kwargs, ...LISTS.map((name) => value[name])].find(isObject)
  const texts = TEXTS.map((name) => value[name])
  const text = texts.find((one) => typeof one === 'string') ?? texts.find(isObject)
  collect(inner ?? text, role, into, depth + 1)
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** The role of a message; undefined for what is no message. LangChain has the class name, or the type. */
function roleOf(value: Members): string | undefined {
  if (typeof value.role === 'string') return value.role
  if (Array.isArray(value.id) && typeof value.id.at(-1) === 'string' && isObject(value.kwargs)) {
    const name = String(value.id.at(-1))
    return /Message(?:Chunk)?$/.test(name) ? name : undefined
  }
  const { type } = value
  if (typeof type !== 'string' || !('content' in value || 'data' in value)) return undefined
  return ROLES.has(type) || type === 'system' || type === 'tool' ? type : undefined
}

function contentOf(value: Members): string {
  const inner = [value.kwargs, value.data].find(isObject) as Members | undefined
  const members = inner ?? value
  return partsText(members.content ?? members.parts ?? members.text ?? '')
}

/** Parts that are read, by type; parts without a type have `text`. */
const TEXT_PARTS = new Set(['text', 'output_text', 'input_text'])

function partsText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return isObject(content) ? partText(content as Members) : ''
  return content
    .map((part) => (typeof part === 'string' ? part : isObject(part) ? partText(part as Members) : ''))
    .filter((text) => text !== '')
    .join('\n')
}

function partText({ type, text, content }: Members): string {
  if (type !== undefined && !(TEXT_PARTS as ReadonlySet<unknown>).has(type)) return ''
  return typeof text === 'string' ? text : typeof content === 'string' ? content : ''
}

/** What the user said last, and whether the input goes on behind it. */
export interface Question {
  readonly text: string
  /** How many messages of the user there are. */
  readonly asked: number
  readonly continues: boolean
}

/** @returns undefined where the user said nothing */
export function questionOf(messages: readonly Message[]): Question | undefined {
  const last = messages.findLastIndex(({ role, text }) => role === 'user' && text.trim() !== '')
  if (last === -1) return undefined
  return {
    text: messages[last]!.text,
    asked: messages.filter(({ role }) => role === 'user').length,
    continues: last < messages.length - 1,
  }
}

/** The last thing that the assistant said. */
export function answerOf(messages: readonly Message[]): string | undefined {
  return messages.findLast(({ role, text }) => role === 'assistant' && text.trim() !== '')?.text
}
