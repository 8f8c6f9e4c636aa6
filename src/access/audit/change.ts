/** Records a change in the transaction that makes it. Use cases take the result of `recorded` as their last parameter. */

import { type Change, objectKindOf } from '../../kernel/audit-actions.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Json } from '../../platform/db/pool.ts'
import { newId } from '../../platform/ids.ts'
import type { Author } from './author.ts'
import { insertEntries } from './store.ts'

/** Who changes something: the `Call` of an operation, or the operator at the command line. */
export interface Cause {
  readonly principal: Exclude<Principal, { kind: 'agent' }> | OperatorPrincipal
  /** As in `X-Request-Id`; absent at the command line. */
  readonly requestId?: string
}

interface OperatorPrincipal {
  readonly kind: 'operator'
  readonly organizationId: string
}

/** What changed, such as `{role: 'viewer'}`. Never a secret, nor what customers said. */
export type Details = Readonly<Record<string, Json>>

/** The operator at the command line, who acts in one organization. */
export const byOperator = (organizationId: string): Cause => ({
  principal: { kind: 'operator', organizationId },
})

/** `objectId` and `details` are taken from the result of the use case. */
export function recorded<T>(
  cause: Cause,
  action: Change,
  objectId: (result: T) => string | number | null,
  details: (result: T) => Details = () => ({}),
): Alongside<T> {
  return async (tx, result) => {
    const id = objectId(result)
    await insertEntries(tx, [
      {
        id: newId(),
        ...authorOf(cause),
        action,
        objectKind: objectKindOf(action),
        objectId: id === null ? null : String(id),
        details: details(result),
        times: 1,
      },
    ])
  }
}

/** Who is behind a principal. */
export function authorOf({ principal, requestId }: Cause): Author {
  const { organizationId } = principal
  const common = { organizationId, requestId: requestId ?? null }
  if (principal.kind === 'user') return { ...common, principalKind: 'user', principalId: principal.userId }
  if (principal.kind === 'organization')
    return { ...common, principalKind: 'api_key', principalId: principal.apiKeyId }
  return { ...common, principalKind: 'operator', principalId: null }
}
