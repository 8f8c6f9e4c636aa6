/** What is asked of insight, and what it answers. */
export const CHANNELS = ['recording', 'feedback', 'conversation'] as const
export type Channel = (typeof CHANNELS)[number]

export const METRICS = ['signals', 'sessions', 'feedback', 'recordings'] as const
export type Metric = (typeof METRICS)[number]

export const KEYS = ['day', 'week', 'kind', 'rating', 'agentKey', 'status', 'source'] as const
export type Key = (typeof KEYS)[number]

/** By what each metric can be counted. */
export const KEYS_OF: Readonly<Record<Metric, readonly Key[]>> = {
  signals: ['day', 'week', 'kind', 'rating', 'agentKey'],
  sessions: ['day', 'week', 'status', 'agentKey'],
  feedback: ['day', 'week', 'source'],
  recordings: ['day', 'week', 'source'],
}

/** Bounds in UTC with microseconds. */
export interface Period {
  /** Inclusive. */
  readonly since?: string | undefined
  /** Exclusive. */
  readonly until?: string | undefined
}

export interface Count {
  readonly keys: Readonly<Partial<Record<Key, string | null>>>
  readonly count: number
}
