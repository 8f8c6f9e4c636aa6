/** What can be counted by what, and over which days. Pure. */

import { CHANNELS, type Channel } from '../../kernel/channel.ts'
import { type Day, type DayOf, daysIn, shiftDay, startOf } from '../../platform/time-zone.rules.ts'
import { invalid } from '../../platform/validation/json.ts'
import {
  type CountFilters,
  type CountRequest,
  type Coverage,
  KEYS_OF,
  type Metric,
  type Period,
} from './model.ts'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
const DIGEST_DAYS = 7
export const MAX_DAYS = 366
/** RFC 3339 has years of four digits. */
const LAST_DAY = '9999-12-31'

/** PostgreSQL has no year 0, and a summary also reads the period before. */
const FIRST_DAY = '0003-01-01'

/** Whole days of a time zone. */
export interface Days {
  readonly timeZone: string
  /** The first day. */
  readonly from: Day
  /** The day after the last. */
  readonly to: Day
}

/**
 * The days of a period in a time zone. A day of which the period has a part counts wholly. By default the last 30 days, today included.
 * @throws AppError 400 if there is no day, or more than 366
 */
export function daysOf(period: Period, now: Date, timeZone: string): Days {
  return withinLimit(period, timeZone, DEFAULT_DAYS, (dayOf) => shiftDay(dayOf(now.getTime()), 1))
}

/** The days of a summary: by default the last 7 that are over. @throws AppError 400 as `daysOf` */
export function daysOfDigest(period: Period, now: Date, timeZone: string): Days {
  return withinLimit(period, timeZone, DIGEST_DAYS, (dayOf) => dayOf(now.getTime()))
}

function withinLimit(
  { since, until }: Period,
  timeZone: string,
  defaultDays: number,
  defaultTo: (dayOf: DayOf) => Day,
): Days {
  const dayOf = daysIn(timeZone)
  const to = until === undefined ? defaultTo(dayOf) : dayBehind(dayOf, until)
  const from = since === undefined ? shiftDay(to, -defaultDays) : dayOf(Date.parse(since))
  const days = { timeZone, from, to }
  const length = lengthOf(days)
  if (length > 0 && length <= MAX_DAYS && from >= FIRST_DAY) return days
  throw invalid([
    { path: 'since', code: 'range', message: `must be before until, by at most ${MAX_DAYS} days` },
  ])
}

const lengthOf = ({ from, to }: Days): number => (Date.parse(to) - Date.parse(from)) / DAY_MS

/** The days before, as many. */
export const daysBefore = (days: Days): Days => ({
  ...days,
  from: shiftDay(days.from, -lengthOf(days)),
  to: days.from,
})

/** When the day begins, as RFC 3339 in UTC. */
export const momentOf = (day: Day, timeZone: string): string => new Date(startOf(day, timeZone)).toISOString()

/** The day behind the last one that has begun by a moment. */
function dayBehind(dayOf: DayOf, moment: string): Day {
  // A moment may have microseconds, `Date.parse` drops them.
  const isWholeMs = !/\.\d{3}\d*[1-9]/.test(moment)
  const last = dayOf(Date.parse(moment) - (isWholeMs ? 1 : 0))
  return last.length > LAST_DAY.length || last === LAST_DAY ? LAST_DAY : shiftDay(last, 1)
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
