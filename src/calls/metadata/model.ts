/** Shapes of metadata definitions and of typed values in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  createdAt,
  described,
  named,
  oneOf,
  orNull,
  text,
  trimmedText,
  updatedAt,
  uuid,
} from '../../platform/validation/schema.ts'

/** The `externalEntityName` of the canonical source. It is reserved among sources of type `api`. */
export const CANONICAL_NAME = 'recordings'
/** The `type` of every source that was created through this API. */
export const API_TYPE = 'api'

/** In UTF-16 code units. Well below the size limit of an index entry. */
export const MAX_EXTERNAL_ID = 255

export const FIELD_TYPES = ['string', 'boolean', 'integer', 'float', 'date', 'datetime', 'json'] as const
export type FieldType = (typeof FIELD_TYPES)[number]
const FieldType = named(
  'MetadataFieldType',
  oneOf(
    FIELD_TYPES,
    'The values of the field: `string`, `boolean`, `integer` (safe), `float` (finite), `date` (RFC 3339 full-date), ' +
      '`datetime` (RFC 3339 date-time with offset), `json` (anything). Every type also takes `null`.',
  ),
)

const MANAGERS = ['customer', 'integration', 'service'] as const
export type ManagedBy = (typeof MANAGERS)[number]

const Name = trimmedText('Case-sensitive.', MAX_NAME)

export const Source = named(
  'MetadataSource',
  Type.Object({
    id: uuid('Id of the source.'),
    externalEntityName: Type.String({
      description: `The kind of the source’s records, such as \`accounts\`: 1 to ${MAX_NAME} characters.`,
    }),
    type: Type.String({ description: '`api`, or the provider of an integration.' }),
    managedBy: oneOf(
      MANAGERS,
      'Who may change the source. `customer`: callers of this API. `integration` and `service`: read-only in this API.',
    ),
    isCanonicalRecordingSource: Type.Boolean({
      description: '`true` for the one source that defines the fields of recordings.',
    }),
    createdAt,
    updatedAt,
  }),
)
export interface Source {
  readonly id: string
  readonly externalEntityName: string
  readonly type: string
  readonly managedBy: ManagedBy
  readonly isCanonicalRecordingSource: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

const EntityName = described(
  Name,
  `The kind of the source’s records. Stored trimmed: 1 to ${MAX_NAME} characters.`,
)
export const CreateSource = Type.Object({ externalEntityName: EntityName })
export const RenameSource = Type.Object({ externalEntityName: EntityName }, { additionalProperties: false })

export const Field = named(
  'MetadataField',
  Type.Object({
    id: uuid('Id of the field.'),
    sourceId: uuid('Id of its source.'),
    name: Type.String({ description: `Unique in its source: 1 to ${MAX_NAME} characters.` }),
    type: FieldType,
    createdAt,
    updatedAt,
  }),
)
export interface Field {
  readonly id: string
  readonly sourceId: string
  readonly name: string
  readonly type: FieldType
  readonly createdAt: Date
  readonly updatedAt: Date
}

const FieldName = described(Name, `Unique in its source. Stored trimmed: 1 to ${MAX_NAME} characters.`)
export const CreateField = Type.Object({ name: FieldName, type: FieldType })
export type CreateField = { readonly name: string; readonly type: FieldType }
export const RenameField = Type.Object({ name: FieldName }, { additionalProperties: false })

/** One value in a request. `value` is required and may be `null`. */
export const ValueInput = named(
  'MetadataValueInput',
  Type.Object({
    fieldId: uuid('Id of a field of the canonical `recordings` source.'),
    value: Type.Unknown({ description: 'JSON of the type of the field, or `null`.' }),
  }),
)
export type ValueInput = Readonly<Static<typeof ValueInput>>

/** `record` in a request that creates a recording. */
export const RecordInput = Type.Object(
  {
    externalId: Type.Optional(
      text(
        `The caller’s identifier, unique among the recordings of the organization: 1 to ${MAX_EXTERNAL_ID} characters.`,
        { minLength: 1, maxLength: MAX_EXTERNAL_ID },
      ),
    ),
    values: Type.Optional(Type.Array(ValueInput, { description: 'Values of fields, at most one a field.' })),
  },
  { documented: { allOf: [{ properties: { sourceId: false } }] } },
)
export interface RecordInput {
  readonly externalId?: string
  readonly values?: readonly ValueInput[]
}

export const TypedValue = named(
  'MetadataValue',
  Type.Object({
    fieldId: uuid('Id of the field.'),
    name: Type.String({ description: 'Name of the field.' }),
    type: FieldType,
    value: Type.Unknown({ description: 'JSON of the type of the field, or `null`.' }),
  }),
)
export interface TypedValue {
  readonly fieldId: string
  readonly name: string
  readonly type: FieldType
  readonly value: unknown
}

/** `record` of a recording: its canonical metadata record. */
export const CanonicalRecord = Type.Object({
  externalId: orNull(Type.String(), 'The caller’s identifier; null if none was given.'),
  values: Type.Array(TypedValue, {
    description: 'Values of fields, in the order in which the fields were created.',
  }),
})
export interface CanonicalRecord {
  readonly externalId: string | null
  readonly values: readonly TypedValue[]
}

/** A metadata record of a recording, from any source. */
export interface MetadataRecord extends CanonicalRecord {
  readonly id: string
  readonly sourceId: string
  readonly externalEntityName: string
  /** The type of the source. */
  readonly type: string
  readonly isCanonicalRecordingSource: boolean
}

export interface RecordingMetadata {
  /** Null for recordings without a canonical record. */
  readonly canonical: CanonicalRecord | null
  /** The canonical record comes first. */
  readonly all: readonly MetadataRecord[]
}
