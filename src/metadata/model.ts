/** Wire shapes of metadata definitions and of the typed values that recordings carry. */
import { type Static, Type } from '@sinclair/typebox'
import { MAX_NAME } from '../platform/names.ts'
import { uuid } from '../platform/validation/schema.ts'

/** The `externalEntityName` of the canonical source; reserved among sources of type `api`. */
export const CANONICAL_NAME = 'recordings'
/** The `type` of every source that was made through this interface. */
export const API_TYPE = 'api'

/** UTF-16 code units; far below what an index entry holds. */
const MAX_EXTERNAL_ID = 255

export const FIELD_TYPES = ['string', 'boolean', 'integer', 'float', 'date', 'datetime', 'json'] as const
export type FieldType = (typeof FIELD_TYPES)[number]
const FieldType = Type.Union(
  FIELD_TYPES.map((type) => Type.Literal(type)),
  {
    description:
      'What values the field takes: `string`, `boolean`, `integer` (safe), `float` (finite), `date` (RFC 3339 full-date), ' +
      '`datetime` (RFC 3339 date-time with offset), `json` (anything). Every type takes `null`, too',
  },
)

export const MANAGERS = ['customer', 'integration', 'service'] as const
export type ManagedBy = (typeof MANAGERS)[number]

const Uuid = Type.String({ format: 'uuid' })
const Moment = Type.String({ format: 'date-time' })
const Name = Type.String({ minLength: 1, description: `Stored trimmed: 1 to ${MAX_NAME} characters` })

export const Source = Type.Object({
  id: Uuid,
  externalEntityName: Type.String(),
  type: Type.String({ description: '`api`, or the provider of an integration' }),
  managedBy: Type.Union(MANAGERS.map((manager) => Type.Literal(manager))),
  isCanonicalRecordingSource: Type.Boolean({
    description: 'True for the one source whose fields recordings take values of',
  }),
  createdAt: Moment,
  updatedAt: Moment,
})
export interface Source {
  readonly id: string
  readonly externalEntityName: string
  readonly type: string
  readonly managedBy: ManagedBy
  readonly isCanonicalRecordingSource: boolean
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const CreateSource = Type.Object({ externalEntityName: Name })
export const RenameSource = Type.Object({ externalEntityName: Name }, { additionalProperties: false })

export const Field = Type.Object({
  id: Uuid,
  sourceId: Uuid,
  name: Type.String(),
  type: FieldType,
  createdAt: Moment,
  updatedAt: Moment,
})
export interface Field {
  readonly id: string
  readonly sourceId: string
  readonly name: string
  readonly type: FieldType
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const CreateField = Type.Object({ name: Name, type: FieldType })
export type CreateField = { readonly name: string; readonly type: FieldType }
export const RenameField = Type.Object({ name: Name }, { additionalProperties: false })

/** One value in a request; `value` is required and may be `null`. */
export const ValueInput = Type.Object({
  fieldId: uuid('Of a field of the canonical `recordings` source'),
  value: Type.Unknown({ description: "JSON of the field's type, or `null`" }),
})
export type ValueInput = Readonly<Static<typeof ValueInput>>

/** `record` of a request that creates a recording. */
export const RecordInput = Type.Object({
  externalId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_EXTERNAL_ID,
      description: "The caller's identifier; unique among the recordings of the organization",
    }),
  ),
  values: Type.Optional(Type.Array(ValueInput)),
})
export interface RecordInput {
  readonly externalId?: string
  readonly values?: readonly ValueInput[]
}

export const TypedValue = Type.Object({
  fieldId: Uuid,
  name: Type.String(),
  type: FieldType,
  value: Type.Unknown({ description: 'In the declared JSON type, or `null`' }),
})
export interface TypedValue {
  readonly fieldId: string
  readonly name: string
  readonly type: FieldType
  readonly value: unknown
}

/** `record` of a recording: what its canonical metadata record holds. */
export const CanonicalRecord = Type.Object({
  externalId: Type.Union([Type.String(), Type.Null()]),
  values: Type.Array(TypedValue),
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
