/**
 * Query parameters that more than one list has.
 *
 * The rule: what a schema cannot check (a real calendar date) is checked here before it reaches SQL, so that no
 * parameter ends as a failed cast in PostgreSQL.
 */
import { Type } from '@sinclair/typebox'
import { invalid } from './json.ts'

/** A UUID in its text form, upper or lower case. */
export const uuidParameter = (description: string) =>
  Type.String({
    pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$',
    description,
  })

/** A moment, to be read with `moment`. */
export const momentParameter = (description: string) =>
  Type.String({ description: `${description} RFC 3339 date-time with offset`, maxLength: 64 })

const RFC_3339 =
  /^(\d{4})-(\d{2})-(0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/**
 * An RFC 3339 date-time as a `Date`; a missing parameter stays undefined.
 * @throws AppError 400 where it is malformed, has no offset, or names a day that does not exist
 */
export function moment(path: string, value: string | undefined): Date | undefined {
  if (value === undefined) return undefined
  const [, year, month, day] = (RFC_3339.exec(value) ?? []).map(Number)
  const date = new Date(value.toUpperCase())
  // An offset can carry a moment out of the years that PostgreSQL and RFC 3339 can both write.
  const inRange = date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999
  if (inRange && year !== undefined && month !== undefined && day !== undefined && day <= daysIn(year, month))
    return date
  const message = 'must be an RFC 3339 date-time with offset, such as 2026-01-02T03:04:05Z (write + as %2B)'
  throw invalid([{ path, code: 'date_time', message }])
}

function daysIn(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0
}
