/** The period that a page shows, in whole days of the organization's time zone, as the counts have them. */
import { daysIn, shiftDay, startOf } from '../../platform/time-zone.rules.ts'

/** Before everything that was said. */
export const EVER = '1970-01-01T00:00:00Z'

export interface Period {
  /** RFC 3339. */
  readonly since: string
  readonly until: string
  /** Each day, as `2026-01-02`. */
  readonly days: readonly string[]
}

/** The last days with today. */
export function lastDays(count: number, timeZone: string, now = Date.now()): Period {
  const today = daysIn(timeZone)(now)
  const days = Array.from({ length: count }, (_, index) => shiftDay(today, index - count + 1))
  return { ...between(days[0] ?? today, shiftDay(today, 1), timeZone), days }
}

/** One day, as `2026-01-02`. */
export const periodOf = (day: string, timeZone: string): Pick<Period, 'since' | 'until'> =>
  between(day, shiftDay(day, 1), timeZone)

function between(first: string, behind: string, timeZone: string): Pick<Period, 'since' | 'until'> {
  const momentOf = (day: string) => new Date(startOf(day, timeZone)).toISOString()
  return { since: momentOf(first), until: momentOf(behind) }
}

const MOMENT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i

/** The text, if the API takes it as a moment (RFC 3339); otherwise null. */
export function momentOf(text: string): string | null {
  const day = MOMENT.exec(text)?.[1]
  if (day === undefined || Number.isNaN(Date.parse(text))) return null
  // The 30th of February is parsed as a day of March.
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day) ? text : null
}
