/**
 * Parts of schemas that features share. A schema validates values and appears in the OpenAPI document. In addition to the keywords of
 * JSON Schema it may have these, which the document does not show:
 *
 * - `words` completes "must be …" in messages. A schema with a `pattern` needs it.
 * - `documented` contains keywords that only the document shows. Code checks them and reports its own code or message.
 * - `$id` is its name among the component schemas. Two different schemas must not have the same name.
 */
import { type SchemaOptions, type StringOptions, type TSchema, Type } from '@sinclair/typebox'
import { MAX_IGNORED } from './unknown-members.ts'

export interface OwnKeywords {
  readonly words?: string
  readonly documented?: Readonly<Record<string, unknown>>
}

/** Makes the schema a component of the document, to which all uses refer. `name` is in PascalCase and contains the name of its owner. */
export const named = <S extends TSchema>(name: string, schema: S): S => ({ ...schema, $id: name })

/** The schema with another description. Uses of a named schema still refer to its component. */
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

/** The value or `null`. The member itself may be absent only with `optionalOrNull`. */
export const orNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

/** An optional member. `null` has the same meaning as its absence. */
export const optionalOrNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Optional(orNull(schema, description))

/** A UUID in its text form, with hyphens. */
export const uuid = (description: string) => Type.String({ format: 'uuid', description })

/** RFC 3339 with offset, in the years 0001 to 9999, as a caller sends it. Answers are in UTC. */
export const moment = (description: string) => Type.String({ format: 'date-time', description })

/** An id from an identity column of PostgreSQL. */
export const integerId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description })

/** A whole number from 0. */
export const count = (description: string, options: SchemaOptions = {}) =>
  Type.Integer({ minimum: 0, description, ...options })

/** No text in a request may contain U+0000, because PostgreSQL cannot store it. Code checks every text, the schema only documents it. */
const STORABLE = '^[^\\u0000]*$'
export const STORABLE_NOT_BLANK = '^\\s*[^\\s\\u0000][^\\u0000]*$'

/** A text in a request. Lengths count Unicode code points. */
export const text = (description: string, options: StringOptions & OwnKeywords = {}) =>
  Type.String({ description, ...options, documented: { pattern: STORABLE, ...options.documented } })

/** A text in a request that is not blank. Code checks its length after trimming. */
export const trimmedText = (description: string, maxLength: number) =>
  Type.String({
    minLength: 1,
    description: `${description} Stored trimmed: 1 to ${maxLength} characters.`,
    documented: { pattern: STORABLE_NOT_BLANK, maxLength },
  })

/** The time of a creation or change, in UTC. */
export const createdAt = moment('When it was created, in UTC.')
export const updatedAt = moment('When it was changed last, in UTC.')

/** Of the answer to a request in which members without a meaning are ignored; see unknown-members.ts. */
export const ignoredMembers = Type.Optional(
  Type.Array(Type.String(), {
    maxItems: MAX_IGNORED,
    description:
      `Members of the request that have no meaning here, such as \`participants[0].name\`: at most ${MAX_IGNORED}. Absent where ` +
      'there are none.',
    examples: [['participants[0].name']],
  }),
)
