/** What is asked of the counts, and what they answer. */
import type { Channel } from '../../kernel/channel.ts'

export const METRICS = ['signals', 'sessions', 'feedback', 'recordings', 'outcomes'] as const
export type Metric = (typeof METRICS)[number]

export const KEYS = [
  'day',
  'week',
  'kind',
  'rating',
  'productArea',
  'agentVersion',
  'outcome',
  'theme',
  'channel',
  'agentKey',
  'status',
  'source',
] as const
export type Key = (typeof KEYS)[number]

/** By what each metric can be counted. */
export const KEYS_OF: Readonly<Record<Metric, readonly Key[]>> = {
  signals: ['day', 'week', 'kind', 'rating', 'productArea', 'agentVersion', 'theme', 'channel', 'agentKey'],
  sessions: ['day', 'week', 'status', 'productArea', 'agentVersion', 'channel', 'agentKey'],
  feedback: ['day', 'week', 'source', 'channel'],
  recordings: ['day', 'week', 'source', 'channel'],
  outcomes: ['day', 'week', 'outcome', 'productArea', 'agentVersion', 'channel', 'agentKey'],
}

/** Bounds in UTC with microseconds. */
export interface Period {
  /** Inclusive. */
  readonly since?: string | undefined
  /** Exclusive. */
  readonly until?: string | undefined
}

export interface CountFilters {
  /** A kind of an older version also selects those that replaced it. */
  readonly kind?: string | undefined
  readonly rating?: string | undefined
  readonly productArea?: string | undefined
  readonly agentVersion?: string | undefined
  readonly outcome?: string | undefined
  /** Id of a theme. */
  readonly theme?: string | undefined
  readonly channel?: Channel | undefined
  readonly agentKey?: string | undefined
}

export interface CountRequest extends Period, CountFilters {
  readonly metric: Metric
  readonly by: readonly Key[]
}

/** What is counted: a metric, or what was read of its conversations, feedback records and recordings. */
export type Counted = Metric | 'coverage'

/** How many conversations, feedback records and recordings were read. */
export interface Coverage {
  readonly read: number
  readonly waiting: number
  readonly notRead: number
}

export interface Count {
  readonly keys: Readonly<Partial<Record<Key, string | null>>>
  readonly count: number
}

export interface Counts {
  /** The organization's: days are as its clocks have them. */
  readonly timeZone: string
  /** The first day begins, in UTC. */
  readonly since: string
  /** The last day ends. */
  readonly until: string
  readonly data: readonly Count[]
  readonly total: number
  /** Of the conversations, feedback records and recordings of the period on the channels that the metric counts. */
  readonly coverage: Coverage
  /** False while rows of older versions or of another time zone are not counted yet, and if there are more groups than are shown. */
  readonly complete: boolean
}
