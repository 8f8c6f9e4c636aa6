/** Who is behind an entry of the audit log. */
export const PRINCIPAL_KINDS = ['user', 'api_key', 'operator'] as const
type PrincipalKind = (typeof PRINCIPAL_KINDS)[number]

/** Who did something, and by which request. */
export interface Author {
  readonly organizationId: string
  readonly principalKind: PrincipalKind
  /** Null: the operator. */
  readonly principalId: string | null
  readonly requestId: string | null
}
