/**
 * Parts of schemas that features share. A schema validates, and is what the OpenAPI document shows; beside the keywords of JSON
 * Schema it may have these, which the document does not show:
 *
 * - `words` completes "must be …" in messages. A schema with a `pattern` needs it.
 * - `documented` holds keywords that the document shows in addition, where code judges what they say, with a code or a message of its own.
 * - `$id` is its name among the component schemas. Two different schemas must not have the same.
 */
import { type SchemaOptions, type StringOptions, type TSchema, Type } from '@sinclair/typebox'

export interface OwnKeywords {
  readonly words?: string
  readonly documented?: Readonly<Record<string, unknown>>
}

/** The schema as a component of the document: everything that uses it refers to it. `name` is in PascalCase and says whose it is. */
export const named = <S extends TSchema>(name: string, schema: S): S => ({ ...schema, $id: name })

/** The schema with another description; a named one is still referred to. */
export const described = <S extends TSchema>(schema: S, description: string): S =>
  schema.$id === undefined ? { ...schema, description } : { ...schema, useDescription: description }

/** One of a fixed list of words. */
export const oneOf = <const T extends readonly string[]>(values: T, description?: string) =>
  Type.Unsafe<T[number]>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      description === undefined ? {} : { description },
    ),
  )

export const orNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

/** A member that may be left out; `null` says the same. */
export const optionalOrNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(orNull(schema, description))

export const uuid = (description: string) => Type.String({ format: 'uuid', description })

/** RFC 3339 with offset, of the years 0001 to 9999. As it is sent; answers are in UTC. */
export const moment = (description: string) => Type.String({ format: 'date-time', description })

/** An id that PostgreSQL counts. */
export const integerId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

export const count = (description: string, options: SchemaOptions = {}) =>
  Type.Integer({ minimum: 0, description, ...options })

/** What no text in a request may contain (PostgreSQL holds no U+0000). Refused for every text; the schema only tells of it. */
const STORABLE = '^[^\\u0000]*$'
export const STORABLE_NOT_BLANK = '^\\s*[^\\s\\u0000][^\\u0000]*$'

/** A text of a request. Lengths count Unicode code points. */
export const text = (description: string, options: StringOptions & OwnKeywords = {}) =>
  Type.String({ description, ...options, documented: { pattern: STORABLE, ...options.documented } })

/** A text of a request that has more than white space. Its length is counted after trimming, by code. */
export const trimmedText = (description: string, maxLength: number) =>
  Type.String({
    minLength: 1,
    description: `${description} Stored trimmed: 1 to ${maxLength} characters.`,
    documented: { pattern: STORABLE_NOT_BLANK, maxLength },
  })

/** When something was made or changed, in UTC. */
export const createdAt = moment('When it was created, in UTC.')
export const updatedAt = moment('When it was changed last, in UTC.')
