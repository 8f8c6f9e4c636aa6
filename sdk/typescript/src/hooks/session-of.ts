/** Which conversation a call of a framework belongs to. */
import type { Session } from '../earshot.ts'
import type { SessionOptions } from '../options.ts'

/** The part of the client that hooks use. */
export interface Sessions {
  session(id: string, options?: SessionOptions): Pick<Session, 'sync'>
}

/** A conversation: the application's id of it, or the id with its other members. */
export type SessionRef = string | ({ readonly id: string } & SessionOptions)

/**
 * Names the conversation of a call.
 * @param context what the framework carries for the call; its documentation names it
 * @returns null or undefined for calls that are not part of a conversation, such as one that writes a title
 */
export type SessionOf = (context: Readonly<Record<string, unknown>>) => SessionRef | null | undefined

/** The member `conversationId`, or by another of the names that the hooks for Python know. */
export const byConversationId: SessionOf = (context) =>
  ['conversationId', 'conversation_id', 'sessionId', 'session_id']
    .map((name) => context[name])
    .find((id): id is string => typeof id === 'string' && id !== '') ?? null

/** Null: the call belongs to no conversation. An error of the application's function counts as that. */
export function sessionFor(
  earshot: Sessions,
  sessionOf: SessionOf,
  context: unknown,
): Pick<Session, 'sync'> | null {
  try {
    const found = sessionOf((context ?? {}) as Readonly<Record<string, unknown>>)
    if (!found) return null
    if (typeof found === 'string') return earshot.session(found)
    const { id, ...options } = found
    return earshot.session(id, options)
  } catch {
    return null
  }
}

/** A message without the id that the framework gave it: such ids change when an application stores a history and loads it again. */
export function withoutId(message: unknown): { role: string; content: unknown } {
  const { role, content, getType, type } = (message ?? {}) as {
    role?: unknown
    content?: unknown
    type?: unknown
    getType?: () => string
  }
  const name = typeof role === 'string' ? role : typeof getType === 'function' ? getType.call(message) : type
  return { role: typeof name === 'string' ? name : '', content }
}

/** Calls that run, by their id. Those that never end are forgotten when there are many. */
export class Running<T> {
  readonly #calls = new Map<string, T>()

  /** Remembers the call until it ends. */
  start(id: string, call: T): void {
    this.#calls.set(id, call)
    if (this.#calls.size > MOST_RUNNING) this.#calls.delete(this.#calls.keys().next().value as string)
  }

  /** Null if the call is unknown or was forgotten. */
  get(id: string): T | null {
    return this.#calls.get(id) ?? null
  }

  /** Forgets the call, and returns it. */
  end(id: string): T | null {
    const call = this.get(id)
    this.#calls.delete(id)
    return call
  }
}

const MOST_RUNNING = 1_000
