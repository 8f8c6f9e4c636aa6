/** Errors of coding-agent sessions that a client can see. `src/platform/errors.ts` describes the parts. */
export const CODING_SESSION_ERRORS = {
  codes: {
    unsupported_session_format: 400,
    coding_session_empty: 400,
    coding_session_not_found: 404,
    coding_session_upload_not_found: 404,
    coding_session_upload_not_ready: 409,
    coding_session_upload_failed: 409,
  },
  rows: { coding_session: 'coding_session_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly codingSessions: typeof CODING_SESSION_ERRORS
  }
}
