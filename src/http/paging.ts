/**
 * Keyset pagination: a page starts after the last row of the previous one. Its cost does not grow with depth, and new
 * rows cause neither repeated nor missing rows.
 *
 * A cursor is opaque to callers and validated like any input. It contains the name of its list, so that a cursor of
 * another list or order is refused.
 */
import { type TSchema, Type } from '@sinclair/typebox'
import { SCAN_ROWS } from '../platform/db/bounded-scan.ts'
import type { Moment, Position } from '../platform/db/keyset.ts'
import { isUuid } from '../platform/ids.ts'
import { invalid, isStorableText } from '../platform/validation/json.ts'
import { toUtc } from '../platform/validation/rfc3339.ts'
import { orNull } from '../platform/validation/schema.ts'

/** Far longer than any cursor of this service. */
const MAX_CURSOR_LENGTH = 512

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const PARTS = {
  integer: isCount,
  moment: (value: unknown): value is Moment =>
    isCount(value) || (typeof value === 'string' && toUtc(value) !== null),
  uuid: (value: unknown): value is string => typeof value === 'string' && isUuid(value),
  text: (value: unknown): value is string => typeof value === 'string' && isStorableText(value),
}
type Part = keyof typeof PARTS
interface Types {
  readonly integer: number
  readonly moment: Moment
  readonly uuid: string
  readonly text: string
}
type Values<P extends readonly Part[]> = { readonly [I in keyof P]: Types[P[I]] }

/** The order of one list, and the format of its cursors. */
export interface Keyset<P extends readonly Part[]> {
  encode(values: Values<P>): string
  /** The position to continue from; null: the start. @throws AppError 400 if the text is not a cursor of this list */
  decode(cursor: string | undefined): Values<P> | null
}

/** `list` names the list and its order; `parts` are the types of the columns it is ordered by. */
export function keyset<const P extends readonly Part[]>(list: string, parts: P): Keyset<P> {
  return {
    encode: (values) => Buffer.from(JSON.stringify([list, ...values])).toString('base64url'),
    decode(cursor) {
      if (cursor === undefined) return null
      const [name, ...values] = parse(cursor)
      const fits =
        name === list &&
        values.length === parts.length &&
        parts.every((part, index) => PARTS[part](values[index]))
      if (!fits) throw invalid([{ path: 'cursor', code: 'cursor', message: 'is not a cursor of this list' }])
      return values as unknown as Values<P>
    },
  }
}

function parse(cursor: string): readonly unknown[] {
  if (cursor.length > MAX_CURSOR_LENGTH || !/^[\w-]+$/.test(cursor)) return []
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    return Array.isArray(value) ? value : []
  } catch {
    return []
  }
}

export interface Page<T> {
  readonly data: readonly T[]
  readonly limit: number
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/**
 * Creates a page from up to `limit + 1` rows. The extra row only shows that there are more. `cursor` returns the cursor
 * after a row, `item` its wire shape. `end` is the cursor of a scan that ended early, otherwise null.
 */
export function toPage<R, T>(
  rows: readonly R[],
  limit: number,
  cursor: (row: R) => string,
  item: (row: R) => T,
  end: string | null = null,
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last !== undefined ? cursor(last) : end
  return { data: shown.map(item), limit, has_more: next !== null, next_cursor: next }
}

/** The query parameters `limit` and `cursor`, for the query schema of a list. */
export const pageQuery = (maximum: number, fallback: number) => ({
  limit: Type.Integer({
    minimum: 1,
    maximum,
    default: fallback,
    description: `Items per page: 1 to ${maximum}; default ${fallback}.`,
  }),
  cursor: Type.Optional(
    Type.String({ description: '`next_cursor` of the previous page, with the other parameters unchanged.' }),
  ),
})

const pageNumber = { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }

/** The query parameters of a list by page number (specification, "Limits"), for its query schema. */
export const numberedPageQuery = {
  page: Type.Integer({ ...pageNumber, default: 1, description: 'Number of the page, from 1.' }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 10,
    description: 'Items per page: 1 to 100; default 10.',
  }),
}

/** The query parameters of a list that is read by `page` or by `cursor`, for its query schema. */
export const positionQuery = {
  page: Type.Optional(
    Type.Integer({
      ...pageNumber,
      description: `Number of the page, from 1. Not together with \`cursor\`. Only as far as ${SCAN_ROWS.toLocaleString('en')} items of the list; from there on with \`cursor\`.`,
    }),
  ),
  limit: numberedPageQuery.limit,
  cursor: Type.Optional(
    Type.String({
      description:
        '`next_cursor` of the previous page, with the other parameters unchanged. The cost does not depend on the depth.',
    }),
  ),
}

/**
 * `page` is null if a cursor was given. @throws AppError 400 if both `page` and `cursor` are given, or the cursor is
 * not one of this list
 */
export function positionOf<P extends readonly Part[]>(
  order: Keyset<P>,
  { page, limit, cursor }: { readonly page?: number; readonly limit: number; readonly cursor?: string },
): Position<Values<P>> & { readonly page: number | null } {
  if (page !== undefined && cursor !== undefined)
    throw invalid([{ path: 'page', code: 'contradiction', message: 'must not be given with cursor' }])
  const number = cursor === undefined ? (page ?? 1) : null
  return {
    after: order.decode(cursor),
    offset: number === null ? 0 : (number - 1) * limit,
    limit,
    page: number,
  }
}

/** The answer of a list that is read by `page` or by `cursor`. For a named item its name is `<name>Page`. */
export const positionedPageOf = <S extends TSchema>(item: S) =>
  Type.Object(
    {
      ...pageMembers(item),
      page: orNull(Type.Integer({ minimum: 1 }), 'Number of the page, from 1; null if a cursor was given.'),
    },
    pageOptions(item),
  )

/** The answer of a list: `{data, limit, has_more, next_cursor}`. For a named item its name is `<name>Page`. */
export const pageOf = <S extends TSchema>(item: S) => Type.Object(pageMembers(item), pageOptions(item))

const pageMembers = <S extends TSchema>(item: S) => ({
  data: Type.Array(item, {
    description:
      'The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues.',
  }),
  limit: Type.Integer({ minimum: 1, description: 'Maximum number of items on the page.' }),
  has_more: Type.Boolean({ description: 'Whether there are more items.' }),
  next_cursor: orNull(Type.String(), 'The `cursor` of the next page; null on the last one.'),
})

const pageOptions = ({ $id }: TSchema) => ({
  description: 'One page of a list.',
  ...($id === undefined ? {} : { $id: `${$id}Page` }),
})
