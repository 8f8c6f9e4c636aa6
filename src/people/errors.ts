/** Errors of people that a client can see. `src/platform/errors.ts` describes the parts. */
export const PEOPLE_ERRORS = {
  codes: {
    person_not_found: 404,
    person_erasure_not_found: 404,
  },
  rows: { person: 'person_not_found' },
} as const

declare module '../platform/errors.ts' {
  interface DeclaredErrors {
    readonly people: typeof PEOPLE_ERRORS
  }
}
