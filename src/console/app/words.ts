/** Words and times as people read them. Pure but for the viewer's zone and language. */

const LABELS: Readonly<Record<string, string>> = {
  bug_report: 'Bug report',
  feature_request: 'Feature request',
  question: 'Question',
  complaint: 'Complaint',
  praise: 'Praise',
  confusion: 'Confusion',
  human_requested: 'Wants a person',
  churn_risk: 'May leave',
  wrong_answer: 'Wrong answer',
  repeated_problem: 'Problem again',
  resolved_confirmation: 'Confirmed solved',
  message_feedback: 'Rating',
  conversation: 'Conversation',
  recording: 'Call',
  feedback: 'Feedback',
  none: 'Neither',
  no_media: 'No media yet',
  no_recogniser: 'No speech recogniser',
}

/** `bug_report` → `Bug report`. */
export function labelOf(name: string): string {
  return LABELS[name] ?? name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}

const UNREAD = {
  language: 'Not analysed in this language',
  no_words: 'No words to analyse',
  capture_disabled: 'Not analysed: content is not stored',
  billing: 'Not analysed: no credits are left',
} as const

interface Analysis {
  readonly state: 'read' | 'waiting' | 'not_read'
  readonly reason: keyof typeof UNREAD | null
}

/** Whether something was analysed, and why not; null if it was. */
export function readWords({ state, reason }: Analysis): string | null {
  if (state === 'read') return null
  if (state === 'waiting') return 'Not analysed yet'
  return reason === null ? 'The analysis failed' : UNREAD[reason]
}

/** What an outcome rests on; null where there is none. */
export const basisWords = (basis: 'stated' | 'inferred' | null): string | null =>
  basis === null ? null : basis === 'stated' ? 'Said by the customer' : 'Inferred by the analysis'

/** What a person is called. */
export function nameOf(person: {
  readonly first_name: string | null
  readonly last_name: string | null
  readonly email: string | null
}): string {
  return [person.first_name, person.last_name].filter(Boolean).join(' ') || person.email || 'Unnamed'
}

const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })
const NUMBER = new Intl.NumberFormat()

export const dateTime = (time: string): string => DATE_TIME.format(new Date(time))
export const number = (value: number): string => NUMBER.format(value)

const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
] as const

/** `3 days ago`. */
export function ago(time: string, now = Date.now()): string {
  let value = (new Date(time).getTime() - now) / 1000
  for (const [unit, size] of STEPS) {
    if (Math.abs(value) < size) return RELATIVE.format(Math.round(value), unit)
    value /= size
  }
  return RELATIVE.format(Math.round(value), 'year')
}

/** Seconds as `1:02:03` or `2:03`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' })

/** A date without a time, such as `2026-01-02`. */
export const dateOf = (day: string): string =>
  day === '' ? '' : DATE.format(new Date(`${day.slice(0, 10)}T00:00:00Z`))

/** When an object was created, to the millisecond: ids are UUIDs of version 7, which begin with it. Null for another id. */
export function createdAtOf(id: string): string | null {
  const [, high, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i.exec(id) ?? []
  return high === undefined ? null : new Date(Number.parseInt(`${high}${low}`, 16)).toISOString()
}
