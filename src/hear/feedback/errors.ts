/** Errors of feedback that a client can see. `src/platform/errors.ts` describes the parts. */
export const FEEDBACK_ERRORS = {
  codes: {
    unsupported_source_type: 400,
    feedback_source_not_found: 404,
    feedback_record_not_found: 404,
    external_id_exists: 409,
    feedback_import_not_found: 404,
    feedback_import_not_ready: 409,
    feedback_import_started: 409,
    feedback_import_repeated: 409,
  },
  members: {
    id: {
      type: 'integer',
      description: 'With `external_id_exists`: the feedback record that has the external id.',
    },
    recordId: { type: 'integer', description: 'Same as `id`.' },
    importId: {
      type: 'string',
      format: 'uuid',
      description: 'With `feedback_import_repeated`: the earlier import of the same file.',
    },
  },
  rows: {
    feedback_source: 'feedback_source_not_found',
    feedback_record: 'feedback_record_not_found',
    feedback_import: 'feedback_import_not_found',
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly feedback: typeof FEEDBACK_ERRORS
  }
}
