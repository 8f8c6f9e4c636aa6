/**
 * Reads one span of a request: checks it and keeps what its conversation needs. Pure.
 *
 * A span is judged alone, so the result does not depend on which spans come with it.
 */
import { isStorableText } from '../platform/validation/json.ts'
import { type Attributes, kindOf, numberOf, stringOf, textOf, valuesOf } from './attributes.rules.ts'
import { answerOf, type Message, questionOf, readMessages } from './messages.rules.ts'
import {
  type AnyValue,
  type KeptSpan,
  type KeyValue,
  MAX_NAME,
  MAX_TEXT,
  type SentId,
  type SentSpan,
  type SentTime,
  type SpanFeedback,
} from './model.ts'

/** A refused span: why, for the sender. */
export interface Refused {
  readonly refused: string
}

/** @returns null for a span that no conversation needs */
export function readSpan(span: SentSpan, resource: Attributes): KeptSpan | Refused | null {
  const traceId = idOf(span.traceId, 16)
  const id = idOf(span.spanId, 8)
  if (traceId === null || id === null) return { refused: 'a span has no valid trace id and span id' }
  const start = microseconds(span.startTimeUnixNano)
  const end = microseconds(span.endTimeUnixNano)
  if (start === null || end === null) return { refused: `span ${id} has no valid start and end` }
  const attributes = attributesOf(span.attributes)
  const parent = idOf(span.parentSpanId, 8)
  if (parent === null && !isAbsent(span.parentSpanId)) return { refused: `span ${id} has no valid parent` }
  const kind = kindOf(attributes, parent === null)
  const kept: KeptSpan = compact({
    traceId,
    id,
    parent: parent ?? undefined,
    kind,
    start,
    end: Math.max(start, end),
    ...whoAndWhere(attributes, resource),
    ...(kind === 'other' ? {} : saidIn(span, attributes)),
    feedback: feedbackOf(span, end),
  })
  const wrong = whyRefused(kept)
  if (wrong !== null) return { refused: `span ${id}: ${wrong}` }
  return isNeeded(kept) ? kept : null
}

/** Roots are needed for knowing when their trace is complete. */
function isNeeded({ parent, kind, session, feedback, user }: KeptSpan): boolean {
  return (
    parent === undefined ||
    kind !== 'other' ||
    feedback !== undefined ||
    session !== undefined ||
    user !== undefined
  )
}

function whoAndWhere(attributes: Attributes, resource: Attributes) {
  const userId = textOf(attributes, 'userId')
  const either = (meaning: 'environment' | 'release' | 'agentVersion') =>
    textOf(attributes, meaning) ?? textOf(resource, meaning)
  return {
    session: textOf(attributes, 'session'),
    user:
      userId === undefined
        ? undefined
        : compact({
            id: userId,
            name: textOf(attributes, 'userName'),
            email: textOf(attributes, 'userEmail'),
          }),
    environment: either('environment'),
    release: either('release'),
    agentVersion: either('agentVersion'),
  }
}

function saidIn(span: SentSpan, attributes: Attributes) {
  const input = [...messagesIn(attributes, 'input')]
  const inEvents = messagesOfEvents(span)
  const question = questionOf(input.length > 0 ? input : inEvents.input)
  const answer = answerOf([...messagesIn(attributes, 'output')]) ?? answerOf(inEvents.output)
  const provider = textOf(attributes, 'provider')
  const name = textOf(attributes, 'model')
  const { inputTokens, outputTokens } = usageOf(attributes)
  const usage = compact({ inputTokens, outputTokens })
  const model = compact({ provider, name })
  return {
    question: question?.text,
    asked: question?.asked,
    continues: question?.continues || undefined,
    answer,
    model: Object.keys(model).length > 0 ? model : undefined,
    usage: Object.keys(usage).length > 0 ? usage : undefined,
  }
}

/** The messages of the first attribute that has any. */
function messagesIn(attributes: Attributes, meaning: 'input' | 'output'): readonly Message[] {
  for (const value of valuesOf(attributes, meaning)) {
    const messages = readMessages(value, meaning === 'input' ? 'user' : 'assistant')
    if (messages.some(({ text }) => text.trim() !== '')) return messages
  }
  return []
}

/** Older GenAI conventions record one event for each message, or one event with all of them. */
const EVENT_ROLES: Readonly<Record<string, Message['role']>> = {
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'other',
}

function messagesOfEvents({ events }: SentSpan): { input: Message[]; output: Message[] } {
  const input: Message[] = []
  const output: Message[] = []
  for (const event of objectsOf(events)) {
    const { name } = event
    if (typeof name !== 'string' || !name.startsWith('gen_ai.')) continue
    const attributes = attributesOf(event.attributes)
    const role = EVENT_ROLES[name]
    const content = attributes.get('content') ?? attributes.get('message')
    if (role !== undefined) {
      const text = readMessages(content, 'user')[0]?.text ?? ''
      input.push({ role, text })
    } else if (name === 'gen_ai.choice') {
      addTo(output, readMessages(content, 'assistant'))
    } else {
      addTo(input, messagesIn(attributes, 'input'))
      addTo(output, messagesIn(attributes, 'output'))
    }
  }
  return { input, output }
}

/** A call with a million arguments overflows the stack, so `push(...more)` fails for a long list. */
function addTo(list: Message[], more: readonly Message[]): void {
  for (const message of more) list.push(message)
}

function usageOf(attributes: Attributes) {
  const details = textOf(attributes, 'usage')
  const inDetails = details === undefined ? {} : numbersIn(details)
  return {
    inputTokens: numberOf(attributes, 'inputTokens') ?? inDetails.input,
    outputTokens: numberOf(attributes, 'outputTokens') ?? inDetails.output,
  }
}

function numbersIn(json: string): { readonly input?: number; readonly output?: number } {
  try {
    const value = JSON.parse(json) as Record<string, unknown> | null
    const number = (one: unknown) => (typeof one === 'number' && one >= 0 ? one : undefined)
    return { input: number(value?.input), output: number(value?.output) }
  } catch {
    return {}
  }
}

/** Names of evaluations that stand for feedback of users; OpenTelemetry has no event for it. */
const USER_FEEDBACK = /^user[ _.-]?feedback$/i
const LABELS: Readonly<Record<string, SpanFeedback['rating']>> = {
  positive: 'positive',
  thumbs_up: 'positive',
  good: 'positive',
  negative: 'negative',
  thumbs_down: 'negative',
  bad: 'negative',
}

/** Events `gen_ai.evaluation.result` with the name `user_feedback`. A score above 0 is positive. */
function feedbackOf({ events }: SentSpan, end: number): readonly SpanFeedback[] | undefined {
  const found = objectsOf(events).flatMap((event): SpanFeedback[] => {
    if (event.name !== 'gen_ai.evaluation.result') return []
    const attributes = attributesOf(event.attributes)
    if (!USER_FEEDBACK.test(stringOf(attributes.get('gen_ai.evaluation.name')))) return []
    const label = stringOf(attributes.get('gen_ai.evaluation.score.label')).toLowerCase()
    const score = attributes.get('gen_ai.evaluation.score.value')
    const scored = typeof score === 'number' ? (score > 0 ? 'positive' : 'negative') : undefined
    const comment = attributes.get('gen_ai.evaluation.explanation')
    const rating = (Object.hasOwn(LABELS, label) ? LABELS[label] : undefined) ?? scored
    const said = typeof comment === 'string' && comment.trim() !== '' ? comment : undefined
    if (rating === undefined && said === undefined) return []
    return [compact({ at: microseconds(event.timeUnixNano) ?? end, rating, comment: said })]
  })
  return found.length > 0 ? found : undefined
}

function whyRefused(span: KeptSpan): string | null {
  const { session, user, environment, release, agentVersion, model } = span
  const names = { session, user: user?.id, environment, release, agentVersion }
  for (const [member, text] of Object.entries({ ...names, name: user?.name, email: user?.email, ...model }))
    if (text !== undefined && text.length > MAX_NAME) return `${member} has more than ${MAX_NAME} characters`
  const texts = [span.question, span.answer, ...(span.feedback ?? []).map(({ comment }) => comment)]
  if (texts.some((text) => text !== undefined && text.length > MAX_TEXT))
    return `a message has more than ${MAX_TEXT} characters`
  const all = [...Object.values(names), user?.name, user?.email, model?.name, model?.provider, ...texts]
  return all.every((text) => text === undefined || isStorableText(text)) ? null : 'a text cannot be stored'
}

const HEX = /^[0-9a-f]+$/i
const NULL_ID = /^0*$/

/**
 * An id of `bytes` bytes as hexadecimal text; null where it is absent or invalid. The binary encoding has bytes. The JSON encoding has
 * hexadecimal text, but is not checked against a schema here, so it may hold anything.
 */
function idOf(id: SentId, bytes: number): string | null {
  const text = hexOf(id, bytes)
  return text.length === 2 * bytes && HEX.test(text) && !NULL_ID.test(text) ? text.toLowerCase() : null
}

/** The text of an id; empty where it is none. */
function hexOf(id: SentId, bytes: number): string {
  if (typeof id === 'string') return id
  return id instanceof Uint8Array && id.length === bytes ? Buffer.from(id).toString('hex') : ''
}

/** Whether a span has no parent: the id is missing, empty or zero. */
function isAbsent(id: SentId): boolean {
  if (id === null || id === undefined) return true
  return typeof id === 'string'
    ? NULL_ID.test(id)
    : id instanceof Uint8Array && id.every((byte) => byte === 0)
}

/** The year 2200. Later times do not fit PostgreSQL’s and ours alike. */
const MAX_MICROSECONDS = 7_258_118_400_000_000

/** Microseconds since 1970; null where it is no time. */
function microseconds(time: SentTime): number | null {
  const value = Math.floor((numberIn(time) ?? Number.NaN) / 1_000)
  return Number.isSafeInteger(value) && value > 0 && value < MAX_MICROSECONDS ? value : null
}

/**
 * The number of a member; undefined where it has none. `Number` fails for objects with a member `toString`. An object with a function
 * is from the binary decoder, because JSON has none.
 */
function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number' || typeof value === 'string') return Number(value)
  if (typeof value !== 'object' || value === null || !('toNumber' in value)) return undefined
  return typeof value.toNumber === 'function' ? value.toNumber() : undefined
}

/** The objects of a list. The JSON encoding is not checked against a schema, so it may hold anything. */
export function objectsOf<T extends object>(list: readonly T[] | null | undefined): readonly T[] {
  if (!Array.isArray(list)) return []
  return (list as readonly (T | null)[]).filter((one): one is T => typeof one === 'object' && one !== null)
}

export function attributesOf(list: readonly KeyValue[] | null | undefined): Attributes {
  const attributes = new Map<string, unknown>()
  for (const { key, value } of objectsOf(list))
    if (typeof key === 'string') attributes.set(key, plain(value, 0))
  return attributes
}

const MAX_DEPTH = 20

function plain(value: AnyValue | null | undefined, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return undefined
  if (typeof value.stringValue === 'string') return value.stringValue
  const number = numberIn(value.intValue) ?? numberIn(value.doubleValue)
  if (number !== undefined) return number
  if (typeof value.boolValue === 'boolean') return value.boolValue
  if (Array.isArray(value.arrayValue?.values))
    return value.arrayValue.values.map((one: AnyValue) => plain(one, depth + 1))
  if (!Array.isArray(value.kvlistValue?.values)) return undefined
  const members = objectsOf<KeyValue>(value.kvlistValue.values).filter(({ key }) => typeof key === 'string')
  return Object.fromEntries(members.map(({ key, value: one }) => [key, plain(one, depth + 1)]))
}

/** The object without its undefined members. */
export function compact<T extends object>(value: T): T {
  const result: Partial<T> = {}
  for (const name in value) if (value[name] !== undefined) result[name] = value[name]
  return result as T
}
