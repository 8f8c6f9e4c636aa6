/** Errors of feedback that a client can see. `src/platform/errors.ts` describes the parts. */
export const FEEDBACK_ERRORS = {
  codes: {
    feedback_source_not_found: 404,
    feedback_record_not_found: 404,
    external_id_exists: 409,
  },
  members: {
    id: {
      type: 'integer',
      description: 'With `external_id_exists`: the feedback record that has the external id.',
    },
    recordId: { type: 'integer', description: 'Same as `id`.' },
  },
} as const

declare module '../platform/errors.ts' {
  interface DeclaredErrors {
    readonly feedback: typeof FEEDBACK_ERRORS
  }
}
