/** Days as the clocks of a time zone have them. Pure. */

/** A day as `2026-01-02`. */
export type Day = string

/** The day that a moment belongs to, given in milliseconds since 1970. */
export type DayOf = (time: number) => Day

const DAY_MS = 86_400_000

/**
 * Whether the name is `UTC` or one of the IANA time zone database with an area, such as `Europe/Berlin`. Abbreviations such as `CET` are not,
 * because PostgreSQL reads them as fixed offsets; nor are offsets such as `+02:00` and POSIX names such as `UTC+3`, whose sign means the opposite.
 */
export function isTimeZone(name: string): boolean {
  if (name === 'UTC') return true
  if (!/^[A-Za-z]+(?:\/[A-Za-z0-9_+-]+)+$/.test(name) || name.length > 64) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const dayInUtc: DayOf = (time) => new Date(time).toISOString().slice(0, 10)

/** @param timeZone one that `isTimeZone` knows */
export function daysIn(timeZone: string): DayOf {
  if (timeZone === 'UTC') return dayInUtc
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return (time) => {
    const parts = new Map(format.formatToParts(time).map(({ type, value }) => [type, value]))
    return `${parts.get('year')?.padStart(4, '0')}-${parts.get('month')}-${parts.get('day')}`
  }
}

/** The day that is so many days later; earlier if the number is negative. */
export const shiftDay = (day: Day, days: number): Day => dayInUtc(Date.parse(day) + days * DAY_MS)

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/** When the day begins, in milliseconds since 1970: the first minute that belongs to it, or to a later one where clocks skipped it. */
export function startOf(day: Day, timeZone: string): number {
  const dayOf = daysIn(timeZone)
  // No zone is further from UTC.
  let [before, at] = [Date.parse(day) - 16 * HOUR_MS, Date.parse(day) + 16 * HOUR_MS]
  while (at - before > MINUTE_MS) {
    const middle = before + Math.floor((at - before) / (2 * MINUTE_MS)) * MINUTE_MS
    if (dayOf(middle) < day) before = middle
    else at = middle
  }
  return at
}
