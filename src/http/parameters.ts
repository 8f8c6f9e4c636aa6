/**
 * Query and path parameters that several operations share.
 *
 * A check that a schema cannot express (a real calendar date) runs here, so that no parameter causes a failed cast in
 * PostgreSQL.
 */
import { Type } from '@sinclair/typebox'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import { DATE_TIME_EXAMPLE } from '../platform/validation/formats.ts'
import { invalid } from '../platform/validation/json.ts'
import { toUtc } from '../platform/validation/rfc3339.ts'
import { integerId as integerIdSchema, uuid } from '../platform/validation/schema.ts'

/** A UUID as text, in upper or lower case. */
export const uuidParameter = uuid

/** A point in time. Read it with `moment`. */
export const momentParameter = (description: string) =>
  Type.String({
    description: `${description} RFC 3339 date-time with offset`,
    format: 'date-time',
    words: MOMENT,
  })

const MOMENT = `${DATE_TIME_EXAMPLE} (write + as %2B)`

/** A path parameter with the UUID of a thing, such as `recording`. */
export const uuidOf = (thing: string) => uuid(`Id of the ${thing}.`)

/** A path parameter with the integer id of a thing, such as `person`. */
export const integerIdOf = (thing: string) => integerIdSchema(`Id of the ${thing}.`)

/**
 * Converts an RFC 3339 date-time to UTC with microseconds, which PostgreSQL keeps. A missing parameter stays undefined.
 * @throws AppError 400 if it is malformed, has no offset, or names a day that does not exist
 */
export function moment(path: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const utc = toUtc(value)
  if (utc !== null) return utc
  throw invalid([{ path, code: 'date_time', message: `must be ${MOMENT}` }])
}

/** An integer of PostgreSQL's identity columns in a path. */
const INTEGER_ID = /^[1-9]\d{0,15}$/

/** An integer id in a path. @throws AppError 404 `code` if it is not one */
export function integerId(text: string, code: ErrorCode): number {
  const id = Number(text)
  if (INTEGER_ID.test(text) && Number.isSafeInteger(id)) return id
  throw new AppError(code, 'The object does not exist.')
}

/** A parameter that names a person. */
export const personParameter = (description: string) =>
  Type.Optional(
    Type.String({
      pattern:
        '^(?:[1-9][0-9]{0,15}|[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$',
      words: 'the `id` or the `uuid` of a person',
      description,
    }),
  )
