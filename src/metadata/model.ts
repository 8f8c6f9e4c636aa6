/** Wire shapes of metadata definitions and of the typed values that recordings carry. */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../platform/validation/names.ts'
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
} from '../platform/validation/schema.ts'

/** The `externalEntityName` of the canonical source; reserved among sources of type `api`. */
export const CANONICAL_NAME = 'recordings'
/** The `type` of every source that was made through this interface. */
export const API_TYPE = 'api'

/** UTF-16 code units; far below what an index entry holds. */
export const MAX_EXTERNAL_ID = 255

export const FIELD_TYPES = ['string', 'boolean', 'integer', 'float', 'date', 'datetime', 'json'] as const
export type FieldType = (typeof FIELD_TYPES)[number]
const FieldType = named(
  'MetadataFieldType',
  oneOf(
    FIELD_TYPES,
    'What values the field takes: `string`, `boolean`, `integer` (safe), `float` (finite), `date` (RFC 3339 full-date), ' +
      '`datetime` (RFC 3339 date-time with offset), `json` (anything). Every type takes `null`, too.',
  ),
)

export const MANAGERS = ['customer', 'integration', 'service'] as const
export type ManagedBy = (typeof MANAGERS)[number]

const Name = trimmedText('Compared by case.', MAX_NAME)

export const Source = named(
  'MetadataSource',
  Type.Object({
    id: uuid('Id of the source.'),
    externalEntityName: Type.String({
      description: `What the records of the source are, such as \`accounts\`: 1 to ${MAX_NAME} characters.`,
    }),
    type: Type.String({ description: '`api`, or the provider of an integration.' }),
    managedBy: oneOf(
      MANAGERS,
      'Who may change it. `customer`: callers of this interface; `integration` and `service`: nobody through this interface.',
    ),
    isCanonicalRecordingSource: Type.Boolean({
      description: '`true` for the one source whose fields recordings take values of.',
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
  `What the records of the source are. Stored trimmed: 1 to ${MAX_NAME} characters.`,
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

/** One value in a request; `value` is required and may be `null`. */
export const ValueInput = named(
  'MetadataValueInput',
  Type.Object({
    fieldId: uuid('Id of a field of the canonical `recordings` source.'),
    value: Type.Unknown({ description: 'JSON of the type of the field, or `null`.' }),
  }),
)
export type ValueInput = Readonly<Static<typeof ValueInput>>

/** `record` of a request that creates a recording. */
export const RecordInput = Type.Object({
  externalId: Type.Optional(
    text(
      `The caller’s identifier, unique among the recordings of the organization: 1 to ${MAX_EXTERNAL_ID} characters.`,
      { minLength: 1, maxLength: MAX_EXTERNAL_ID },
    ),
  ),
  values: Type.Optional(Type.Array(ValueInput, { description: 'Values of fields, at most one of a field.' })),
})
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

/** `record` of a recording: what its canonical metadata record holds. */
export const CanonicalRecord = Type.Object({
  externalId: orNull(Type.String(), 'The caller’s identifier; null where none was given.'),
  values: Type.Array(TypedValue, {
    description: 'Values of fields, in the order in which the fields were made.',
  }),
})
export interface CanonicalRecord {
  readonly externalId: string | null
  readonly values: readonly TypedValue[]
}

/** One of the metadata records linked to a recording, of whichever source. */
export interface MetadataRecord extends CanonicalRecord {
  readonly id: string
  readonly sourceId: string
  readonly externalEntityName: string
  /** Of the source. */
  readonly type: string
  readonly isCanonicalRecordingSource: boolean
}

export interface RecordingMetadata {
  /** null for recordings that have no canonical record. */
  readonly canonical: CanonicalRecord | null
  /** The canonical one first. */
  readonly all: readonly MetadataRecord[]
}
