/** Refuses users whose role is too low for an operation (contract, "People who sign in"). */

import { includesRole } from '../kernel/roles.rules.ts'
import { AppError } from '../platform/errors.ts'
import type { Caller } from './auth.ts'
import type { Operation } from './operation.ts'

/**
 * The check comes before the look-up of any object, so that the answer says nothing about objects. Keys of organizations
 * have every right in their organization.
 * @throws AppError 403 `role_required`, which names the needed role
 */
export function assertRole({ role }: Pick<Operation, 'role'>, principal: Caller | null): void {
  if (role === undefined || principal?.kind !== 'user' || includesRole(principal.role, role)) return
  throw new AppError('role_required', `This needs the role ${role}. Your role is ${principal.role}.`, {
    extra: { requiredRole: role },
  })
}
