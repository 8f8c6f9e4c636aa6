/** Errors of quotas that a client can see. `src/platform/errors.ts` describes the parts. */
import { AppError } from '../../platform/errors.ts'

export const QUOTA_ERRORS = {
  codes: {
    quota_exceeded: 507,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly quotas: typeof QUOTA_ERRORS
  }
}

/** No repetition helps, so there is no `Retry-After`. */
export const quotaExceeded = (what: string): AppError =>
  new AppError(
    'quota_exceeded',
    `The organization may store no more ${what}: delete some, or ask the operator for a higher quota.`,
  )
