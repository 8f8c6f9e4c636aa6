/**
 * Pure decisions about metadata: which values a type accepts, and who may change what.
 *
 * A value is stored exactly as it was sent, or refused. It therefore comes back in its declared JSON type.
 */
import type { ErrorCode, ErrorDetail } from '../../platform/errors.ts'
import { isFullDate, isRfc3339 } from '../../platform/validation/rfc3339.ts'
import { API_TYPE, type FieldType, type Source, type ValueInput } from './model.ts'

const ACCEPTS: Record<FieldType, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  integer: (value) => Number.isSafeInteger(value),
  float: (value) => Number.isFinite(value),
  date: (value) => typeof value === 'string' && isFullDate(value),
  datetime: (value) => typeof value === 'string' && isRfc3339(value),
  json: () => true,
}

const EXPECTED: Record<FieldType, string> = {
  string: 'a JSON string',
  boolean: 'true or false',
  integer: 'a JSON number that is a safe integer',
  float: 'a finite JSON number',
  date: 'an RFC 3339 full-date such as "2026-01-02"',
  datetime: 'an RFC 3339 date-time with offset such as "2026-01-02T03:04:05Z"',
  json: 'any JSON value',
}

/** True if a field of the type accepts the value (specification, "Metadata field"). Every type accepts `null`. */
export function accepts(type: FieldType, value: unknown): boolean {
  return value === null || ACCEPTS[type](value)
}

export interface ValueFinding extends ErrorDetail {
  readonly code: Extract<
    ErrorCode,
    'metadata_value_type_mismatch' | 'metadata_field_not_canonical' | 'metadata_field_duplicate'
  >
}

/**
 * Findings about wrong values, at most one for each value, in their order.
 * `types` maps the ids (in lower case) of the canonical source's fields to their types.
 */
export function checkValues(
  values: readonly ValueInput[],
  types: ReadonlyMap<string, FieldType>,
): readonly ValueFinding[] {
  const seen = new Set<string>()
  return values.flatMap(({ fieldId, value }, index): ValueFinding[] => {
    const id = fieldId.toLowerCase()
    const path = `record.values[${index}]`
    const type = types.get(id)
    if (type === undefined)
      return [
        {
          path: `${path}.fieldId`,
          code: 'metadata_field_not_canonical',
          message: 'is not a field of the canonical recordings source',
        },
      ]
    if (seen.has(id))
      return [
        {
          path: `${path}.fieldId`,
          code: 'metadata_field_duplicate',
          message: 'has a value already in this request',
        },
      ]
    seen.add(id)
    if (accepts(type, value)) return []
    const message = `must be ${EXPECTED[type]}, or null: the field has the type ${type}`
    return [{ path: `${path}.value`, code: 'metadata_value_type_mismatch', message }]
  })
}

/** Customers rename only their own sources: not the canonical source, and no source that an integration manages. */
export function mayRename(source: Source): boolean {
  return source.managedBy === 'customer'
}

/** Fields can be created and renamed in sources of type `api`, including the canonical source. */
export function mayChangeFields(source: Source): boolean {
  return source.type === API_TYPE && source.managedBy !== 'integration'
}
