/** Errors of the administration that a client can see. `src/platform/errors.ts` describes the parts. */
export const ADMINISTRATION_ERRORS = {
  codes: {
    actor_message_not_found: 404,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly administration: typeof ADMINISTRATION_ERRORS
  }
}
