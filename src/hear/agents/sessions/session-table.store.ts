/** Passes any number of sessions, of any organizations, and their rows to one statement as tables. */
import type { Query } from '../../../platform/db/pool.ts'

/** The ids that every row of a session carries. */
export interface SessionScope {
  readonly organizationId: string
  readonly applicationId: string
  readonly sessionId: string
}

/** Rows of one session, for a statement about several sessions. */
export interface PerSession<T> {
  readonly scope: SessionScope
  readonly rows: readonly T[]
}

/** Sessions as a table `s (organization_id, application_id, session_id, n)`, numbered from 1. */
export const sessionTable = (tx: Query, scopes: readonly SessionScope[]) => tx`
  unnest(
    ${scopes.map(({ organizationId }) => organizationId)}::text[]::uuid[],
    ${scopes.map(({ applicationId }) => applicationId)}::text[]::uuid[],
    ${scopes.map(({ sessionId }) => sessionId)}::text[]::uuid[]
  ) with ordinality as s (organization_id, application_id, session_id, n)`

/** The rows of all sessions, and for each row the number of its session in `sessionTable`. */
export function numbered<T>(parts: readonly PerSession<T>[]): {
  readonly ns: number[]
  readonly rows: readonly T[]
} {
  return {
    ns: parts.flatMap(({ rows }, index) => rows.map(() => index + 1)),
    rows: parts.flatMap(({ rows }) => rows),
  }
}

export function scopesOf(parts: readonly { readonly scope: SessionScope }[]): readonly SessionScope[] {
  return parts.map(({ scope }) => scope)
}
