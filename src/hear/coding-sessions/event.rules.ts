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
  /** The id that earlier versions gave to the event. A session that has it keeps it. */
  readonly formerId?: string
  /** A UUID of the record that the event begins with. Another origin under the same id is another event. null: the id is enough. */
  readonly origin: string | null
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
  /** The thread of the conversation that the record stands in. Absent: there is one only. */
  readonly chain?: string
  /** The number that the agent gave to the line. */
  readonly ordinal?: number
  /** Absent: the identity is never used for another event. */
  readonly repeats?: Repeats
}

/** What tells another event from a further record of the same one when a model or a relay gives an id again. */
export type Repeats =
  | {
      readonly type: 'answer'
      readonly parent: string | null
      readonly request: string | null
      /** The model has said why it stopped, so nothing follows. */
      readonly isStopped: boolean
    }
  | { readonly type: 'call'; readonly callId: string }
  | { readonly type: 'result'; readonly callId: string; readonly content: string }

/** A thread begins. The first one is the file's own; later ones are those whose history it continues. */
export interface ThreadFact {
  readonly fact: 'thread'
  readonly id: string
  readonly startedAt: string | null
  /** The thread that it was forked from or spawned by. */
  readonly parentId: string | null
  /** Lines with a lower number are copied from the parent. */
  readonly historyEnd: number | null
}

/** Cumulative tokens. */
export interface TotalFact {
  readonly fact: 'total'
  /** null: the record is of one answer only, and needs no totals beside it. */
  readonly total: Usage | null
  /** Those of the latest answer. */
  readonly last: Usage | null
  readonly occurredAt: string | null
  readonly ordinal?: number
  /** The thread whose tokens these are, and the answer. */
  readonly threadId?: string
  readonly responseId?: string
}

/** What the reader of a format makes of one line. */
export type Fact =
  | EventFact
  | { readonly fact: 'session'; readonly session: SessionFacts }
  | ThreadFact
  /** A turn begins. */
  | { readonly fact: 'turn'; readonly id: string }
  | TotalFact
  /** The user typed a prompt while the agent worked. It may be written again when the agent takes it. */
  | { readonly fact: 'queued'; readonly event: EventFact }
  /** The agent takes the first waiting prompt, or the one with this text. */
  | { readonly fact: 'dequeued'; readonly text: string | null }
  /** The user takes back all waiting prompts, or the one with this text. */
  | { readonly fact: 'withdrawn'; readonly text: string | null }
  /** The user went back: the last turns, or everything from the event on, are undone. */
  | { readonly fact: 'undo'; readonly turns: number }
  | { readonly fact: 'undo'; readonly identity: string }
  /** The line could not be used. */
  | { readonly fact: 'skip' }
