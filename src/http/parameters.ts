/**
 * Query parameters that more than one list has.
 *
 * The rule: what a schema cannot check (a real calendar date) is checked here before it reaches SQL, so that no
 * parameter ends as a failed cast in PostgreSQL.
 */
import { Type } from '@sinclair/typebox'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import { invalid } from '../platform/validation/json.ts'
import { toUtc } from '../platform/validation/rfc3339.ts'
import { integerId as integerIdSchema, uuid } from '../platform/validation/schema.ts'

/** A UUID in its text form, upper or lower case. */
export const uuidParameter = uuid

/** A moment, to be read with `moment`. */
export const momentParameter = (description: string) =>
  Type.String({
    description: `${description} RFC 3339 date-time with offset`,
    format: 'date-time',
    words: MOMENT,
  })

const MOMENT = 'an RFC 3339 date-time with offset, such as 2026-01-02T03:04:05Z (write + as %2B)'

/** A path parameter that is the UUID of a thing, such as `recording`. */
export const uuidOf = (thing: string) => uuid(`Id of the ${thing}.`)

/** A path parameter that is the integer id of a thing, such as `person`. */
export const integerIdOf = (thing: string) => integerIdSchema(`Id of the ${thing}.`)

/**
 * An RFC 3339 date-time in UTC, with the microseconds that PostgreSQL keeps; a missing parameter stays undefined.
 * @throws AppError 400 where it is malformed, has no offset, or names a day that does not exist
 */
export function moment(path: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const utc = toUtc(value)
  if (utc !== null) return utc
  throw invalid([{ path, code: 'date_time', message: `must be ${MOMENT}` }])
}

/** A whole number of PostgreSQL's identity columns, as it stands in a path. */
const INTEGER_ID = /^[1-9]\d{0,15}$/

/** An integer id of a path. @throws AppError 404 `code` where it is not one */
export function integerId(text: string, code: ErrorCode): number {
  const id = Number(text)
  if (INTEGER_ID.test(text) && Number.isSafeInteger(id)) return id
  throw new AppError(code, 'There is no such object.')
}
