/** What can be counted by what, and over which days. Pure. */
import { invalid } from '../../platform/validation/json.ts'
import {
  CHANNELS,
  type Channel,
  type CountFilters,
  type CountRequest,
  type Coverage,
  KEYS_OF,
  type Metric,
  type Period,
} from '../model.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const DIGEST_DAYS = 7
export const MAX_DAYS = 366
/** RFC 3339 has years of four digits. */
const LAST_DAY = '9999-12-31'

/** PostgreSQL has no year 0, and a summary also reads the period before. */
const FIRST_DAY = '0003-01-01'

/** Whole days in UTC. */
export interface Days {
  /** The first day, as `YYYY-MM-DD`. */
  readonly from: string
  /** The day after the last. */
  readonly to: string
}

/**
 * The days of a period, in UTC. A day of which the period has a part counts wholly. By default the last 30 days, today included.
 * @throws AppError 400 if there is no day, or more than 366
 */
export function daysOf({ since, until }: Period, now: Date): Days {
  return withinLimit(since, until === undefined ? dayAfter(now.getTime()) : ceiling(until), DEFAULT_DAYS)
}

/** The days of a summary: by default the last 7 that are over. @throws AppError 400 as `daysOf` */
export function daysOfDigest({ since, until }: Period, now: Date): Days {
  return withinLimit(since, until === undefined ? dayOf(now.getTime()) : ceiling(until), DIGEST_DAYS)
}

function withinLimit(since: string | undefined, to: string, defaultDays: number): Days {
  const from = since === undefined ? dayOf(Date.parse(to) - defaultDays * DAY_MS) : since.slice(0, 10)
  const days = lengthOf({ from, to })
  if (days > 0 && days <= MAX_DAYS && from >= FIRST_DAY) return { from, to }
  throw invalid([
    { path: 'since', code: 'range', message: `must be before until, by at most ${MAX_DAYS} days` },
  ])
}

const lengthOf = ({ from, to }: Days): number => (Date.parse(to) - Date.parse(from)) / DAY_MS

/** The days before, as many. */
export const daysBefore = (days: Days): Days => ({
  from: dayOf(Date.parse(days.from) - lengthOf(days) * DAY_MS),
  to: days.from,
})

export const startOf = (day: string): string => `${day}T00:00:00.000Z`

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
const dayAfter = (time: number): string => dayOf(time + DAY_MS)

function ceiling(moment: string): string {
  const day = moment.slice(0, 10)
  const isStart = /^\d{4}-\d{2}-\d{2}T00:00:00(?:\.0+)?Z$/.test(moment)
  return isStart || day >= LAST_DAY ? day : dayAfter(Date.parse(startOf(day)))
}

const FILTERS_OF: Readonly<Record<Metric, readonly (keyof CountFilters)[]>> = {
  signals: ['kind', 'rating', 'productArea', 'agentVersion', 'theme', 'channel', 'agentKey'],
  sessions: ['productArea', 'agentVersion', 'channel', 'agentKey'],
  feedback: ['channel'],
  recordings: ['channel'],
  outcomes: ['outcome', 'productArea', 'agentVersion', 'channel', 'agentKey'],
}
const FILTERS: readonly (keyof CountFilters)[] = [
  'kind',
  'rating',
  'productArea',
  'agentVersion',
  'outcome',
  'theme',
  'channel',
  'agentKey',
]

/** @throws AppError 400 if a key or a filter does not apply to the metric */
export function assertCountable(request: CountRequest, pathOf = (filter: string) => filter): void {
  const { metric, by } = request
  const isUnfit = by.some((key) => !KEYS_OF[metric].includes(key)) || new Set(by).size < by.length
  if (isUnfit || by.length === 0 || by.length > 2)
    throw invalid([
      {
        path: 'by',
        code: 'contradiction',
        message: `must be one or two different ones of ${KEYS_OF[metric].join(', ')} for ${metric}`,
      },
    ])
  const unfit = FILTERS.find((name) => request[name] !== undefined && !FILTERS_OF[metric].includes(name))
  if (unfit !== undefined)
    throw invalid([{ path: pathOf(unfit), code: 'contradiction', message: `does not apply to ${metric}` }])
}

/** The metric that counts what is read, by channel. */
export const METRIC_OF = {
  conversation: 'sessions',
  feedback: 'feedback',
  recording: 'recordings',
} as const satisfies Record<Channel, Metric>

const CHANNELS_OF: Readonly<Record<Metric, readonly Channel[]>> = {
  signals: CHANNELS,
  sessions: ['conversation'],
  feedback: ['feedback'],
  recordings: ['recording'],
  outcomes: ['conversation', 'recording'],
}

/** Channels of whose conversations, records and recordings a count says how many were read. */
export const coveredChannels = ({ metric, channel }: CountRequest): readonly Channel[] =>
  CHANNELS_OF[metric].filter((one) => channel === undefined || one === channel)

/**
 * What is neither read nor refused waits.
 * @param all how many conversations, records and recordings there are
 * @param counts by state
 */
export function coverageOf(all: number, counts: ReadonlyMap<string | null, number>): Coverage {
  const [read, notRead] = [counts.get('read') ?? 0, counts.get('not_read') ?? 0]
  return { read, waiting: Math.max(0, all - read - notRead), notRead }
}

/** Bits of the level of folded counts. */
export const WITH_AREA = 1
export const WITH_VERSION = 2

/** The level with what a count needs. An organization may have many areas and versions, so the other levels have fewer rows. */
export function levelOf({
  by,
  productArea,
  agentVersion,
}: Pick<CountRequest, keyof CountFilters | 'by'>): number {
  const hasArea = productArea !== undefined || by.includes('productArea')
  const hasVersion = agentVersion !== undefined || by.includes('agentVersion')
  return (hasArea ? WITH_AREA : 0) + (hasVersion ? WITH_VERSION : 0)
}

/** Whether a count needs the themes of signals, which are not folded. */
export const hasTheme = ({ by, theme }: Pick<CountRequest, 'by' | 'theme'>): boolean =>
  theme !== undefined || by.includes('theme')
