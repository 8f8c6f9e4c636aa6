/** Errors of metadata that a client can see. `src/platform/errors.ts` describes the parts. */
export const METADATA_ERRORS = {
  codes: {
    source_read_only: 403,
    metadata_source_not_found: 404,
    metadata_field_not_found: 404,
    metadata_value_type_mismatch: 422,
    metadata_field_not_canonical: 422,
    metadata_field_duplicate: 422,
  },
  details: {
    metadata_value_type_mismatch: 'The value is not of the type of its field.',
    metadata_field_not_canonical: 'The field is not one of the canonical source.',
    metadata_field_duplicate: 'The field has two values in the request.',
  },
  rows: { metadata_source: 'metadata_source_not_found', metadata_field: 'metadata_field_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly metadata: typeof METADATA_ERRORS
  }
}
