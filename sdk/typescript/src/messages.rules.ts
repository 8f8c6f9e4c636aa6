/**
 * From messages of an application or a framework to events of the service. Pure.
 *
 * Each event has an id that depends only on what was said and where: its own, or else the id that the service would derive (operation
 * `append`). So processes that share nothing give the same message the same id.
 */
import { sha256 } from './sha256.ts'

/** A part of a message, as most frameworks have it. Parts without `text` are left out, and what a model thinks before it answers. */
export interface MessagePart {
  readonly type?: string
  readonly text?: unknown
}

/**
 * A message of a conversation. Other forms are understood, too: `parts` instead of `content` (Vercel AI SDK), and LangChain's messages,
 * which have `getType()` instead of `role`.
 */
export interface Message {
  readonly id?: string | null | undefined
  readonly role?: string
  readonly content?: unknown
  readonly parts?: readonly MessagePart[]
  /** When it was said; else the time when it was first handed over. Numbers are Unix time. `createdAt` is understood, too. */
  readonly occurredAt?: Date | string | number
  readonly createdAt?: Date | string | number
  getType?(): string
}

/** What a person thinks of an answer. */
export type Rating = 'positive' | 'negative'

/** An event of the operation `append`. */
export interface AppendEvent {
  readonly externalEventId: string
  readonly type: string
  readonly occurredAt: string
  readonly participantExternalId?: string
  readonly content?: string
  readonly model?: { readonly provider?: string; readonly name?: string }
  readonly usage?: {
    readonly inputTokens?: number
    readonly outputTokens?: number
    readonly latencyMs?: number
  }
  readonly feedback?: {
    readonly targetEventExternalId: string
    readonly rating?: Rating
    readonly comment?: string
  }
}

/** What a message says, before it has an id and a time. */
export interface Spoken {
  /** Null: none of its own. */
  readonly id: string | null
  readonly type: 'user_message' | 'assistant_message'
  readonly text: string
}

const TYPES: Readonly<Record<string, Spoken['type']>> = {
  user: 'user_message',
  human: 'user_message',
  assistant: 'assistant_message',
  ai: 'assistant_message',
  // Gemini.
  model: 'assistant_message',
}

/**
 * Null for what is not part of the conversation: instructions, tools, and messages without text. Roles compare without case.
 * @throws TypeError where it is no message at all
 */
export function spokenOf(message: Message): Spoken | null {
  if (typeof message !== 'object' || message === null || Array.isArray(message))
    throw new TypeError(
      `a message is an object with a role, not ${message === null ? 'null' : typeof message}`,
    )
  const role = String(message.role ?? message.getType?.() ?? '').toLowerCase()
  const type = Object.hasOwn(TYPES, role) ? TYPES[role] : undefined
  const text = textOf(message)
  if (type === undefined || text.trim() === '') return null
  const { id } = message
  return { id: typeof id === 'string' && id.trim() !== '' ? id : null, type, text }
}

/** The texts of a message, joined by empty lines. */
function textOf({ content, parts }: Message): string {
  if (typeof content === 'string') return content
  const some = Array.isArray(content) ? content : Array.isArray(parts) ? parts : []
  return (some as readonly unknown[])
    .map((part) => (typeof part === 'string' ? part : saidIn(part as MessagePart | null)))
    .filter((text): text is string => typeof text === 'string' && text !== '')
    .join('\n\n')
}

/** `thought`: as Gemini marks it. */
function saidIn(part: (MessagePart & { readonly thought?: unknown }) | null): unknown {
  const isSaid = part !== null && part.thought !== true && SAID.has(part.type)
  return isSaid ? part.text : null
}

const SAID: ReadonlySet<string | undefined> = new Set([undefined, 'text', 'input_text', 'output_text'])

/** Gives ids to the messages of a history that grows. */
export interface IdSource {
  /** The ids of the history's messages, in its order. What is as it was at the last call is not hashed again. */
  idsOf(history: readonly Spoken[]): readonly string[]
}

interface Known {
  readonly spoken: Spoken
  /** The hash of what was said. Null where the message has an id of its own. */
  readonly said: string | null
  readonly id: string
}

/** One for each session. */
export function createIdSource(): IdSource {
  let known: Known[] = []
  return {
    idsOf(history) {
      let same = 0
      while (same < history.length && isSame(known[same], history[same])) same++
      const counts = new Map<string, number>()
      known = known.slice(0, same)
      for (const { said } of known) if (said !== null) counts.set(said, (counts.get(said) ?? 0) + 1)
      for (const spoken of history.slice(same)) known.push(identified(spoken, counts))
      return known.map(({ id }) => id)
    },
  }
}

function isSame(known: Known | undefined, spoken: Spoken | undefined): boolean {
  if (known === undefined || spoken === undefined) return false
  const { id, type, text } = known.spoken
  return id === spoken.id && type === spoken.type && text === spoken.text
}

function identified(spoken: Spoken, counts: Map<string, number>): Known {
  const { id, type, text } = spoken
  if (id !== null) return { spoken, said: null, id }
  const said = sha256(JSON.stringify([type, text, null]))
  const position = (counts.get(said) ?? 0) + 1
  counts.set(said, position)
  return { spoken, said, id: sha256(`${said} ${position}`) }
}

/** The id of feedback on a message: another rating of the same message is a revision. */
export function feedbackId(target: string): string {
  return sha256(`${sha256(JSON.stringify(['feedback', null, target]))} 1`)
}

/**
 * The id of the last message of a history that says this; of a history that is not known, that of the first.
 * @param isKnown tells which ids the history has
 */
export function lastIdOf({ id, type, text }: Spoken, isKnown: (id: string) => boolean): string {
  if (id !== null) return id
  const said = sha256(JSON.stringify([type, text, null]))
  const at = (position: number) => sha256(`${said} ${position}`)
  let position = 1
  while (isKnown(at(position + 1))) position++
  return at(position)
}

/** The text without U+0000 and unpaired surrogates, which the service refuses. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Surrogate}/gu, '\uFFFD')
}

/** 1970 and 2200, beyond which the service takes no time. */
const [EARLIEST, LATEST] = [0, 7_258_118_400_000]

/** RFC 3339. What is no time counts as now. */
export function timeOf(
  { occurredAt, createdAt }: Pick<Message, 'occurredAt' | 'createdAt'>,
  now: Date,
): string {
  const ms = millisecondsOf(occurredAt ?? createdAt ?? now)
  return (ms >= EARLIEST && ms < LATEST ? new Date(ms) : now).toISOString()
}

/** NaN for what is no time. Unix time in nanoseconds, microseconds, milliseconds or seconds: each is at least 1973 in its own unit. */
function millisecondsOf(time: unknown): number {
  if (typeof time === 'number') {
    const unit = [1e17, 1e14, 1e11].findIndex((least) => time >= least)
    return time / ([1e6, 1e3, 1][unit] ?? 1e-3)
  }
  return time instanceof Date || typeof time === 'string' ? new Date(time).getTime() : Number.NaN
}
