/** Wire shapes and limits of feedback: sources, and records with typed fields. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { positionedPageOf, positionQuery } from '../http/paging.ts'
import { momentParameter } from '../http/parameters.ts'
import { MAX_NAME } from '../platform/names.ts'

/** The `type` of every source that was made through this interface. */
export const API_TYPE = 'api'

/** 10 KB of UTF-8: of the text of a string, of the JSON text of any other value (specification, "Limits"). */
export const MAX_VALUE_BYTES = 10 * 1024
export const MAX_FIELDS = 200
/** Room for that many fields at their limit, with every second character escaped. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024
export const MAX_EXTERNAL_ID = 255
const MAX_FIELD_NAME = 255
/** Words of lower-case letters and digits, with underscores between them. */
export const FIELD_NAME = `^[a-z0-9][a-z0-9_]{0,${MAX_FIELD_NAME - 1}}$`

export const CATEGORIES = ['content', 'created_at', 'identifier', 'identity', 'metadata'] as const
export type Category = (typeof CATEGORIES)[number]

export const FIELD_TYPES = ['boolean', 'date', 'datetime', 'float', 'integer', 'json', 'string'] as const
export type FieldType = (typeof FIELD_TYPES)[number]

/** A member that may be left out; `null` says the same. */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))
const orNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
const oneOf = <const T extends readonly string[]>(values: T, description: string) =>
  Type.Union(
    values.map((value) => Type.Literal(value as T[number])),
    { description },
  )
const Moment = Type.String({ format: 'date-time' })

export const CreateSource = Type.Object({
  name: Type.String({ minLength: 1, description: `Stored trimmed: 1 to ${MAX_NAME} characters` }),
  type: Type.Optional(Type.Literal(API_TYPE, { description: `\`${API_TYPE}\`, which is the default` })),
})
export type CreateSource = Static<typeof CreateSource>

export const Source = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  type: Type.String(),
  created_at: Moment,
})
export const SourcePage = positionedPageOf(Source)
export const SourceQuery = Type.Object({
  ...positionQuery,
  name: Type.Optional(Type.String({ description: 'The whole name, by case' })),
})

export const Field = Type.Object({
  category: oneOf(
    CATEGORIES,
    '`content`: the feedback itself; `created_at`: timestamps; `identifier`: external references; `identity`: users and ' +
      'entities; `metadata`: additional context',
  ),
  type: oneOf(FIELD_TYPES, '`date` and `datetime` are strings as in RFC 3339, `datetime` with offset'),
  name: Type.String({ pattern: FIELD_NAME, description: 'Descriptive, in snake_case' }),
  value: Type.Unknown({
    description: `JSON of the type, not \`null\`; at most ${MAX_VALUE_BYTES} bytes of UTF-8: of a string its text, else its JSON`,
  }),
})
export type Field = Readonly<Static<typeof Field>>

const PersonId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const CreateRecord = Type.Object({
  fields: Type.Array(Field, { minItems: 1, maxItems: MAX_FIELDS }),
  person_id: optional(PersonId),
  display_ts: optional(
    Type.String({
      maxLength: 64,
      description: 'When the feedback was given: RFC 3339 date-time with offset. Default: now',
    }),
  ),
  external_id: optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_EXTERNAL_ID,
      description: "The caller's identifier; unique within its source",
    }),
  ),
})
export type CreateRecord = Static<typeof CreateRecord>

export const CreatedRecord = Type.Object({
  id: Type.Integer(),
  person_id: orNull(Type.Integer()),
  feedback_source_id: Type.Integer(),
  display_ts: Moment,
  external_id: orNull(Type.String()),
  created_at: Moment,
})
export const FeedbackRecord = Type.Composite([CreatedRecord, Type.Object({ fields: Type.Array(Field) })])
export const RecordPage = positionedPageOf(FeedbackRecord)
export const RecordQuery = Type.Object({
  ...positionQuery,
  external_id: Type.Optional(Type.String()),
  person_id: Type.Optional(PersonId),
  since: Type.Optional(momentParameter('`display_ts` is this or later.')),
  until: Type.Optional(momentParameter('`display_ts` is before this.')),
  created_after: Type.Optional(momentParameter('`created_at` is this or later.')),
  created_before: Type.Optional(momentParameter('`created_at` is before this.')),
})
