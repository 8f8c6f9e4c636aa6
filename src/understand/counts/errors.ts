/** Errors of counts that a client can see. `src/platform/errors.ts` describes the parts. */
export const INSIGHT_ERRORS = {
  codes: {
    insights_busy: 503,
    insights_timed_out: 503,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly insight: typeof INSIGHT_ERRORS
  }
}
