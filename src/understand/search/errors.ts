/** Errors of the search that a client can see. `src/platform/errors.ts` describes the parts. */
export const SEARCH_ERRORS = {
  codes: {
    search_busy: 503,
    search_timed_out: 503,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly search: typeof SEARCH_ERRORS
  }
}
