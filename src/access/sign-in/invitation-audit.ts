/** The audit entry of an answer to an invitation. The person is its author, in the organization that invited them. */

import type { Alongside } from '../../platform/db/alongside.ts'
import { recorded } from '../audit/change.ts'
import type { Invitation } from '../identity/service.ts'

export function answered(
  action: 'member.accepted' | 'member.declined',
  userId: string,
  requestId?: string,
): Alongside<Invitation> {
  return (tx, invitation) => {
    const { organizationId, role } = invitation
    const principal = { kind: 'user', organizationId, userId, role } as const
    const cause = requestId === undefined ? { principal } : { principal, requestId }
    return recorded<Invitation>(
      cause,
      action,
      () => userId,
      () => ({ role }),
    )(tx, invitation)
  }
}
