/**
 * Query parameters that more than one list has.
 *
 * The rule: what a schema cannot check (a real calendar date) is checked here before it reaches SQL, so that no
 * parameter ends as a failed cast in PostgreSQL.
 */
import { Type } from '@sinclair/typebox'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import { toUtc } from '../platform/rfc3339.ts'
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

/**
 * An RFC 3339 date-time in UTC, with the microseconds that PostgreSQL keeps; a missing parameter stays undefined.
 * @throws AppError 400 where it is malformed, has no offset, or names a day that does not exist
 */
export function moment(path: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const utc = toUtc(value)
  if (utc !== null) return utc
  const message = 'must be an RFC 3339 date-time with offset, such as 2026-01-02T03:04:05Z (write + as %2B)'
  throw invalid([{ path, code: 'date_time', message }])
}

/** A whole number of PostgreSQL's identity columns, as it stands in a path. */
const INTEGER_ID = /^[1-9]\d{0,15}$/

/** An integer id of a path. @throws AppError 404 `code` where it is not one */
export function integerId(text: string, code: ErrorCode): number {
  const id = Number(text)
  if (INTEGER_ID.test(text) && Number.isSafeInteger(id)) return id
  throw new AppError(code, 'There is no such object.')
}
