/** Errors of the event stream that a client can see. `src/platform/errors.ts` describes the parts. */
export const EVENT_STREAM_ERRORS = {
  codes: {
    too_many_streams: 429,
    streams_full: 503,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly eventStream: typeof EVENT_STREAM_ERRORS
  }
}
