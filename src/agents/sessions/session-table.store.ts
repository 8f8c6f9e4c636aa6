/**
 * Sessions, and rows that belong to them, as tables of a statement: how one statement takes any number of sessions, of any
 * organizations.
 */
import type { Query } from '../../platform/db/pool.ts'

/** Where rows of a session belong. */
export interface SessionScope {
  readonly organizationId: string
  readonly applicationId: string
  readonly sessionId: string
}

/** What is written or looked up for one session of several. */
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

/** The number in `sessionTable` of every row, and the rows in the same order. */
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
