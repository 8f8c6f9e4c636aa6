/** Errors of projects that a client can see. `src/platform/errors.ts` describes the parts. */
export const PROJECT_ERRORS = {
  codes: {
    project_not_found: 404,
  },
  rows: { project: 'project_not_found' },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly projects: typeof PROJECT_ERRORS
  }
}
