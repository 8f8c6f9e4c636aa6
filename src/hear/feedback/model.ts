/** Shapes and limits of feedback in the API: sources, and records with typed fields. */
import { type Static, Type } from '@sinclair/typebox'
import { AnalysisShape } from '../../analysis/findings/coverage.model.ts'
import { positionedPageOf, positionQuery } from '../../http/paging.ts'
import { momentParameter } from '../../http/parameters.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  createdAt,
  ignoredMembers,
  integerId,
  moment,
  named,
  oneOf,
  optionalOrNull,
  orNull,
  text,
  trimmedText,
} from '../../platform/validation/schema.ts'

/** The `type` of every source that was created through this API. */
export const API_TYPE = 'api'

/** 10 KB of UTF-8: the text of a string, or the JSON of any other value (specification, "Limits"). */
export const MAX_VALUE_BYTES = 10 * 1024
export const MAX_FIELDS = 200
/** Large enough for the maximum number of fields at their limit, with every second character escaped. */
export const MAX_RECORD_BYTES = 4 * 1024 * 1024
export const MAX_EXTERNAL_ID = 255
const MAX_FIELD_NAME = 255
/** Lower-case letters, digits and underscores, not starting with an underscore. */
export const FIELD_NAME = `^[a-z0-9][a-z0-9_]{0,${MAX_FIELD_NAME - 1}}$`

export const CATEGORIES = ['content', 'created_at', 'identifier', 'identity', 'metadata'] as const
export type Category = (typeof CATEGORIES)[number]

export const FIELD_TYPES = ['boolean', 'date', 'datetime', 'float', 'integer', 'json', 'string'] as const
export type FieldType = (typeof FIELD_TYPES)[number]

export const CreateSource = Type.Object({
  name: trimmedText('Where the feedback comes from.', MAX_NAME),
  type: Type.Optional(
    Type.String({ description: `\`${API_TYPE}\`, the default. Any other is \`unsupported_source_type\`.` }),
  ),
})
export type CreateSource = Static<typeof CreateSource>

export const RenameSource = Type.Object(
  { name: trimmedText('Where the feedback comes from.', MAX_NAME) },
  { additionalProperties: false },
)

export const Source = named(
  'FeedbackSource',
  Type.Object({
    id: integerId('Id of the source.'),
    name: Type.String({ description: `Name of the source: 1 to ${MAX_NAME} characters.` }),
    type: Type.String({ description: `\`${API_TYPE}\` for sources that were created through this API.` }),
    created_at: createdAt,
  }),
)
export const SourcePage = positionedPageOf(Source)
export const SourceQuery = Type.Object({
  ...positionQuery,
  name: Type.Optional(Type.String({ description: 'The exact name, case-sensitive.' })),
})

const ANY_BUT_NULL = { not: { type: 'null' } } as const

/** JSON Schema of the values of each type, for the API document. `checkValue` validates them. */
const VALUES: Readonly<Record<FieldType, object>> = {
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  datetime: { type: 'string', format: 'date-time' },
  float: { type: 'number' },
  integer: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  json: ANY_BUT_NULL,
  string: { type: 'string', pattern: '^[^\\u0000]*$', maxLength: MAX_VALUE_BYTES },
}

export const Field = named(
  'FeedbackField',
  Type.Object(
    {
      category: oneOf(
        CATEGORIES,
        '`content`: the feedback itself; `created_at`: timestamps; `identifier`: external references; `identity`: users and ' +
          'entities; `metadata`: additional context.',
      ),
      type: oneOf(
        FIELD_TYPES,
        'JSON type of the value. `date` and `datetime` are strings as in RFC 3339, `datetime` with offset.',
      ),
      name: Type.String({
        pattern: FIELD_NAME,
        words: `at most ${MAX_FIELD_NAME} lower-case letters, digits and underscores that do not begin with an underscore`,
        description: `Descriptive, in snake_case: 1 to ${MAX_FIELD_NAME} characters.`,
      }),
      value: Type.Unknown({
        description: `JSON of the type, not \`null\`; at most ${MAX_VALUE_BYTES} bytes of UTF-8 (the text of a string, else the JSON).`,
        documented: ANY_BUT_NULL,
      }),
    },
    {
      description: 'One typed value of a record.',
      examples: [{ category: 'content', type: 'string', name: 'comment', value: 'The export is slow.' }],
      documented: {
        oneOf: FIELD_TYPES.map((type) => ({
          title: `${type} field`,
          required: ['type', 'value'],
          properties: { type: { const: type }, value: VALUES[type] },
        })),
      },
    },
  ),
)
export type Field = Readonly<Static<typeof Field>>

export const CreateRecord = Type.Object({
  fields: Type.Array(Field, {
    minItems: 1,
    maxItems: MAX_FIELDS,
    description: `The values of the record: 1 to ${MAX_FIELDS} fields.`,
  }),
  person_id: optionalOrNull(integerId('Id of a person.'), 'Id of the person who gave the feedback.'),
  display_ts: optionalOrNull(moment('A moment.'), 'When the feedback was given. Default: now.'),
  external_id: optionalOrNull(
    text('An id.', { minLength: 1, maxLength: MAX_EXTERNAL_ID }),
    `The caller’s identifier, unique within its source: 1 to ${MAX_EXTERNAL_ID} characters.`,
  ),
})
export type CreateRecord = Static<typeof CreateRecord>

const createdMembers = {
  id: integerId('Id of the record.'),
  person_id: orNull(Type.Integer({ minimum: 1 }), 'Id of the person who gave the feedback; null if unknown.'),
  feedback_source_id: integerId('Id of its source.'),
  display_ts: moment('When the feedback was given, in UTC.'),
  external_id: orNull(Type.String(), 'The caller’s identifier; null if none was given.'),
  created_at: createdAt,
}
export const CreatedRecord = named(
  'CreatedFeedbackRecord',
  Type.Object({ ...createdMembers, ignored: ignoredMembers }),
)
export const FeedbackRecord = named(
  'FeedbackRecord',
  Type.Object({
    ...createdMembers,
    fields: Type.Array(Field, { description: 'The values of the record, as they were sent.' }),
    analysis: AnalysisShape,
  }),
)
export const RecordPage = positionedPageOf(FeedbackRecord)
export const RecordQuery = Type.Object({
  ...positionQuery,
  external_id: Type.Optional(
    Type.String({ description: 'The exact `external_id` of a record, case-sensitive.' }),
  ),
  person_id: Type.Optional(integerId('Records of this person.')),
  since: Type.Optional(momentParameter('`display_ts` is this or later.')),
  until: Type.Optional(momentParameter('`display_ts` is before this.')),
  created_after: Type.Optional(momentParameter('`created_at` is this or later.')),
  created_before: Type.Optional(momentParameter('`created_at` is before this.')),
})
