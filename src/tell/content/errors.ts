/** Errors of pages that a client can see. `src/platform/errors.ts` describes the parts. */
export const CONTENT_ERRORS = {
  codes: {
    page_not_found: 404,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly content: typeof CONTENT_ERRORS
  }
}
