/** Errors of findings that a client can see. `src/platform/errors.ts` describes the parts. */
export const FINDING_ERRORS = {
  codes: {
    signal_not_correctable: 409,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly findings: typeof FINDING_ERRORS
  }
}
