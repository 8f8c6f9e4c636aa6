/**
 * Dates and times of RFC 3339 (section 5.6): the one judge of every timestamp that a caller sends.
 *
 * The rule: what passes is a real moment of the calendar that both PostgreSQL and `Date` hold. Neither can be asked
 * to judge: `Date.parse` takes February 30, PostgreSQL takes `yesterday`.
 */
import { trimEndOf } from './trim.ts'

const FULL_DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/

const MS_PER_MINUTE = 60_000
/** The instants of the years 0001 to 9999 in UTC, in milliseconds since 1970; an offset may not lead out of them. */
const FIRST_INSTANT = -62_135_596_800_000
const LAST_INSTANT = 253_402_300_799_999

const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const

/** True for a `full-date` such as `2026-02-28`, of the years 0001 to 9999. */
export function isFullDate(text: string): boolean {
  const match = FULL_DATE.exec(text)
  return match !== null && isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3]))
}

/**
 * True for a `date-time` with offset, such as `2026-01-01T00:00:00.123Z` or `…+01:00`.
 *
 * At most nine fraction digits. Second 60 is refused although section 5.6 can write it: whether a minute has one
 * is only known from a table that grows twice a year, PostgreSQL moves it into the next minute, and `Date`
 * does not know it.
 */
export function isRfc3339(text: string): boolean {
  return toUtc(text) !== null
}

/**
 * The same instant with offset `Z`, its fraction cut to the microseconds that PostgreSQL keeps and without trailing
 * zeros; null where `isRfc3339` is false. Two texts of one instant give the same text.
 */
export function toUtc(text: string): string | null {
  const match = DATE_TIME.exec(text)
  if (match === null) return null
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = match
  if (!isCalendarDay(Number(year), Number(month), Number(day))) return null
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  let seconds = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  if (sign !== undefined) {
    if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return null
    const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * MS_PER_MINUTE
    // A whole date and time in UTC is parsed the same by every engine; years below 100 too, unlike `Date.UTC`.
    const instant = Date.parse(`${seconds}Z`) + (sign === '+' ? -offset : offset)
    if (instant < FIRST_INSTANT || instant > LAST_INSTANT) return null
    seconds = new Date(instant).toISOString().slice(0, 19)
  }
  const digits = fraction === undefined ? '' : trimEndOf(fraction.slice(0, 6), '0')
  return digits === '' ? `${seconds}Z` : `${seconds}.${digits}Z`
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day <= (MONTH_DAYS[month - 1] as number) + (leap ? 1 : 0)
}
