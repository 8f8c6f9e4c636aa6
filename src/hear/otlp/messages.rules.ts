/**
 * Reads messages out of the shapes in which frameworks record input and output: GenAI conventions, OpenAI chat completions and
 * responses, Vercel AI SDK, LangChain and LangGraph (serialised or plain), Gemini, arguments of functions, and plain text. Pure; the
 * cost is linear in the size.
 */
import { guessedWords, isPart, isSilent, wordsOf } from './content.rules.ts'
import { CUT, IS_CUT, readJson } from './cut-json.rules.ts'
import { isObject, type Members, type Role, roleNamed, roleOf } from './roles.rules.ts'

export interface Message {
  readonly role: Role | 'other'
  /** Texts of its parts, joined; empty for a message that only calls tools. */
  readonly text: string
  /** The shape is unknown: the text is the only one in it, or its JSON. */
  readonly isGuess?: true
}

type Speaker = 'user' | 'assistant'

/** Members that hold messages, in the order in which they are tried. */
const LISTS = ['message', 'messages', 'choices', 'candidates', 'generations', 'output_messages', 'contents']
const LISTS_OF: Readonly<Record<Speaker, readonly string[]>> = {
  user: [...LISTS, 'inputs', 'args', 'kwargs', 'outputs'],
  assistant: [...LISTS, 'outputs', 'delta', 'args', 'kwargs', 'inputs'],
}

const ASKED = [
  'input',
  'question',
  'query',
  'user_input',
  'userInput',
  'user_message',
  'userMessage',
  'user_query',
]
const PROMPTS = ['prompt', 'text', 'content', 'message']
const ANSWERED = [
  'output',
  'answer',
  'reply',
  'response',
  'result',
  'completion',
  'final_output',
  'finalOutput',
]
/** Members that hold one text, in the order in which they are tried. */
const TEXTS_OF: Readonly<Record<Speaker, readonly string[]>> = {
  user: [...ASKED, ...PROMPTS, ...ANSWERED],
  assistant: [...ANSWERED, 'text', 'content', 'message', 'refusal', ...ASKED, 'prompt'],
}
const MAX_DEPTH = 12

/** Reads for one speaker. */
interface Reader {
  readonly role: Speaker
  /** For histories, which are inputs. */
  readonly ofUser: Reader
  /** By depth, what each object was found to hold: the members of one object are tried in several ways, and theirs again. */
  readonly found: Map<object, readonly Message[]>[]
}

function createReader(role: Speaker): Reader {
  const found: Reader['found'] = []
  if (role === 'assistant') return { role, ofUser: createReader('user'), found }
  const reader = { role, found }
  return Object.assign(reader, { ofUser: reader as Reader })
}

/**
 * The messages of a recorded input or output. A plain text is one message of `role`. JSON within a text is read, also where its end
 * was cut off. Instructions and tools are among the messages, without their texts.
 */
export function readMessages(value: unknown, role: Speaker): Message[] {
  const json = typeof value === 'string' ? readJson(value) : null
  const text = typeof value === 'string' && json === null ? quoted(value) : undefined
  if (text !== undefined && text !== value) return readMessages(text, role)
  const read = json === null ? value : json.value
  const messages: Message[] = []
  collect(read, createReader(role), messages, 0)
  if (json?.isCut) return [...messages, ...lostIn(messages, role)]
  if (messages.length > 0) return messages
  const guess = guessedWords(read, role)
  return guess === null ? [] : [{ role, text: guess, isGuess: true }]
}

/** JSON text of one text, or of nothing. */
function quoted(text: string): string {
  if (text.trim() === 'null') return ''
  if (!/^\s*"/.test(text)) return text
  try {
    return String(JSON.parse(text))
  } catch {
    return text
  }
}

/** What was cut off is the end, and there the newest message stands. */
function lostIn(messages: readonly Message[], role: Speaker): readonly Message[] {
  const last = messages.findLast(({ role: by, text }) => (by === 'user' || by === 'assistant') && text !== '')
  return last?.role === role ? [] : [{ role, text: CUT, isGuess: true }]
}

function collect(value: unknown, by: Reader, into: Message[], depth: number): void {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (value.trim() !== '') into.push({ role: by.role, text: wordsOf(value) })
  } else if (isObject(value)) {
    for (const message of messagesIn(value, by, depth)) into.push(message)
  }
}

/** The messages of an object, which is read once. */
function messagesIn(value: object, by: Reader, depth: number): readonly Message[] {
  const found = by.found[depth] ?? new Map<object, readonly Message[]>()
  by.found[depth] = found
  const known = found.get(value)
  if (known !== undefined) return known
  const messages: Message[] = []
  if (Array.isArray(value)) collectList(value, by, messages, depth)
  else collectObject(value as Members, by, messages, depth)
  found.set(value, messages)
  return messages
}

function collectList(list: readonly unknown[], by: Reader, into: Message[], depth: number): void {
  const [first, second] = list
  // LangGraph takes pairs of a role and a text as messages.
  const said =
    list.length === 2 && typeof first === 'string' && typeof second === 'string'
      ? roleNamed(first)
      : undefined
  if (said !== undefined) into.push(messageOf(said, second))
  else if (list.length > 0 && list.every(isPart)) {
    const text = wordsOf(list)
    if (text !== '') into.push({ role: by.role, text })
    else into.push({ role: 'tool', text: '' })
  } else for (const item of list) collect(item, by, into, depth + 1)
}

/** The words of a structured content that has no parts. */
function unknownWords(content: unknown, role: Message['role']): string {
  const list: readonly unknown[] = Array.isArray(content) ? content : [content]
  const isUnknown = list.every((item) => isObject(item) && !isPart(item) && !isSilent(item as Members))
  return isUnknown ? (guessedWords(content, role === 'user' ? 'user' : 'assistant') ?? '') : ''
}

const messageOf = (role: Message['role'], content: unknown): Message => ({
  role,
  text: role === 'instruction' || role === 'tool' ? '' : wordsOf(content) || unknownWords(content, role),
})

function collectObject(value: Members, by: Reader, into: Message[], depth: number): void {
  const said = roleOf(value)
  if (said !== undefined) into.push(messageOf(roleNamed(said) ?? 'other', contentOf(value)))
  else if (isSilent(value)) into.push({ role: 'tool', text: '' })
  else if (isPart(value)) collectList([value], by, into, depth)
  else collectMembers(value, by, into, depth)
}

/** The messages of the first member that has any. Behind a history, the question may be a member of its own. */
function collectMembers(value: Members, by: Reader, into: Message[], depth: number): void {
  const before = into.length
  for (const name of LISTS_OF[by.role]) {
    const member = name === 'args' ? argumentsOf(value.args, by, depth) : value[name]
    if (!isObject(member) || !hasFound(member, by, into, depth)) continue
    if (by.role === 'user' && into.at(-1)?.role === 'assistant') collectTexts(value, ASKED, by, into, depth)
    return
  }
  into.length = before
  collectTexts(value, TEXTS_OF[by.role], by, into, depth)
}

/** The words of the first of these members that has any. */
function collectTexts(
  value: Members,
  names: readonly string[],
  by: Reader,
  into: Message[],
  depth: number,
): void {
  for (const name of names) {
    const member = value[name]
    // In what is left of a cut object the role of its text may be missing.
    if (isCut(value) && !ASKED.includes(name) && by.role === 'user' && isText(member)) continue
    if ((isText(member) || isObject(member)) && hasFound(nested(member), by, into, depth)) return
  }
}

/**
 * The arguments of a function as messages: its only text, behind the history that may stand beside it. Where messages end with the
 * user, the text is something else, such as the name of a model. Several texts may be anything.
 */
function argumentsOf(value: unknown, { ofUser }: Reader, depth: number): readonly unknown[] | undefined {
  if (!Array.isArray(value)) return undefined
  const [text, ...moreTexts] = value.filter(isText)
  const others = value.filter((one) => !isText(one))
  if (text === undefined) return others
  const history: Message[] = []
  for (const one of others) collect(one, ofUser, history, Math.max(depth + 2, MAX_DEPTH - 5))
  if (history.findLast(({ role }) => role === 'user' || role === 'assistant')?.role === 'user') return others
  return moreTexts.length > 0 ? undefined : [...others, text]
}

const isText = (value: unknown): value is string => typeof value === 'string'
const isCut = (value: Members): boolean => (value as { [IS_CUT]?: boolean })[IS_CUT] === true

function hasFound(member: unknown, by: Reader, into: Message[], depth: number): boolean {
  const before = into.length
  collect(member, by, into, depth + 1)
  return into.slice(before).some((message) => message.role !== 'instruction')
}

/** A text that is JSON of messages, as that; any other text as it is. */
function nested(member: unknown): unknown {
  const read = isText(member) ? readJson(member)?.value : undefined
  return holdsMessages(read) ? read : member
}

function holdsMessages(value: unknown): boolean {
  if (Array.isArray(value))
    return value.some((item) => isObject(item) && roleOf(item as Members) !== undefined)
  if (!isObject(value)) return false
  const members = value as Members
  return (
    roleOf(members) !== undefined ||
    LISTS.some((name) => Array.isArray(members[name]) && holdsMessages(members[name]))
  )
}

function contentOf(value: Members): unknown {
  const inner = [value.kwargs, value.data].find(isObject) as Members | undefined
  const members = inner ?? value
  const contents = [
    members.content,
    members.parts,
    members.text,
    members.contents,
    members.refusal,
    members.output,
  ]
  return (
    contents.find((one) => (isText(one) ? one !== '' : isObject(one) && Object.keys(one).length > 0)) ?? ''
  )
}

/** What the user said last, and whether the input goes on behind it. */
export interface Question {
  readonly text: string
  /** How many messages of the user there are. */
  readonly asked: number
  readonly continues: boolean
  readonly isGuess: boolean
}

/** @returns undefined where the user said nothing */
export function questionOf(messages: readonly Message[]): Question | undefined {
  const spoken = messages.filter(({ role }) => role !== 'instruction')
  const last = spoken.findLastIndex(({ role, text }) => role === 'user' && text.trim() !== '')
  if (last === -1) return undefined
  return {
    text: spoken[last]!.text,
    asked: spoken.filter(({ role }) => role === 'user').length,
    continues: last < spoken.length - 1,
    isGuess: spoken[last]!.isGuess === true,
  }
}

/** The last message of the assistant that has words. */
export function answerOf(messages: readonly Message[]): Message | undefined {
  return messages.findLast(({ role, text }) => role === 'assistant' && text.trim() !== '')
}
