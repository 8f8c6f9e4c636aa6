/** Errors of meeting joins that a client can see. `src/platform/errors.ts` describes the parts. */
export const MEETING_ERRORS = {
  codes: {
    unsupported_meeting_url: 400,
    recording_not_permitted: 401,
    meeting_join_not_found: 404,
    recorder_unavailable: 503,
  },
  details: {
    unsupported_meeting_url: 'The URL names no meeting that the recorder can join.',
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly meetings: typeof MEETING_ERRORS
  }
}
