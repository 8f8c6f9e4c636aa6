/** The normalised form of what coding agents record: one shape for every agent and format. Pure. */

export const EVENT_KINDS = [
  'message',
  'reasoning',
  'tool_call',
  'tool_result',
  'usage',
  'summary',
  'notice',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

export const ROLES = ['user', 'assistant', 'system', 'tool'] as const
export type Role = (typeof ROLES)[number]

export const FORMATS = ['normalized', 'claude-code', 'codex', 'gemini-cli'] as const
export type Format = (typeof FORMATS)[number]

/** Tokens. `inputTokens` are those that no cache served; `outputTokens` include `reasoningTokens`. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export interface ToolCall {
  /** The agent's id of the call. */
  readonly id?: string
  readonly name: string
  /** JSON, or the beginning of its text if it is too long. */
  readonly input?: unknown
  readonly output?: string
  readonly isError?: boolean
  /** The number of files that the call edits. Absent: none. */
  readonly fileEdits?: number
}

/** The content of an event as it is stored. */
export interface EventBody {
  readonly text?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ToolCall[]
  /** Of a result: the call that it answers. */
  readonly toolCallId?: string
  readonly isError?: boolean
}

export interface CodingEvent {
  /** A UUID that depends on the agent's own ids only. */
  readonly id: string
  /** Order within the file. */
  readonly position: number
  /** Grows with the records that the event was put together from. */
  readonly revision: number
  readonly kind: EventKind
  readonly role: Role
  /** RFC 3339 in UTC. */
  readonly occurredAt: string | null
  readonly model: string | null
  readonly sidechain: boolean
  readonly inherited: boolean
  readonly body: EventBody
  readonly toolCalls: number
  readonly fileEdits: number
  readonly usage: Usage
}

/** What a file says about its session. */
export interface SessionFacts {
  readonly externalSessionId?: string
  readonly title?: string
  readonly repo?: string
  readonly branch?: string
  readonly commit?: string
}

/** What the uploader states about a session. null: nothing. */
export interface Labels {
  readonly title: string | null
  readonly repo: string | null
  readonly branch: string | null
  readonly commit: string | null
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

/** A part of an event. Parts of records that belong together are joined. */
export type Part =
  | { readonly type: 'text' | 'reasoning'; readonly text: string }
  | { readonly type: 'call'; readonly call: ToolCall }

/** A record of a file, or a part of one, that describes an event. */
export interface EventFact {
  readonly fact: 'event'
  /** What the event's id is computed from, and what forks share. null: the content, and how often it occurred before. */
  readonly identity: string | null
  /** The same for copies of one record. A copy is ignored. */
  readonly record: string
  readonly kind: EventKind
  readonly role: Role
  readonly occurredAt: string | null
  readonly model: string | null
  readonly sidechain: boolean
  readonly parts: readonly Part[]
  readonly toolCallId?: string
  readonly isError?: boolean
  readonly usage?: Usage
  /** The record replaces earlier ones of the same event instead of adding to them. */
  readonly replaces?: boolean
}

/** What the reader of a format makes of one line. */
export type Fact =
  | EventFact
  | { readonly fact: 'session'; readonly session: SessionFacts }
  /** A thread begins. The first one is the file's own; later ones are those whose history it continues. */
  | { readonly fact: 'thread'; readonly id: string; readonly startedAt: string | null }
  /** Cumulative tokens so far. `last`: those of the latest request. */
  | {
      readonly fact: 'total'
      readonly total: Usage
      readonly last: Usage | null
      readonly occurredAt: string | null
    }
  /** The user went back: the last turns, or everything from the event on, are undone. */
  | { readonly fact: 'undo'; readonly turns: number }
  | { readonly fact: 'undo'; readonly identity: string }
  /** The line could not be used. */
  | { readonly fact: 'skip' }
