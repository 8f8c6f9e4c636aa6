/**
 * Use cases of members: list, find, change the role, remove. Removing an invited person withdraws the invitation.
 *
 * An organization that has administrators keeps one: the last one cannot be removed or get a lower role.
 *
 * A removal takes effect at once and deletes nothing. The organization refuses the user's credentials from then on. Other
 * members see what they saw before. The user's private folders stay invisible until another member takes them over or the
 * user is added again.
 */
import type { Deps } from '../../kernel/deps.ts'
import type { Role } from '../../kernel/roles.rules.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { deleteInvitation } from './invitations.store.ts'
import * as store from './members.store.ts'
import type { Identity } from './service.ts'
import { refuseUserTokensOf } from './user-tokens.store.ts'
import { noMember } from './user-tokens.ts'

export type { Member, MemberRow } from './members.store.ts'

/** Content that only one user can see. */
interface PrivateContent {
  /** `recordings` counts recordings that no other user can see. */
  count(
    tx: Tx,
    organizationId: string,
    userId: string,
  ): Promise<{ readonly folders: number; readonly recordings: number }>
  handOver(tx: Tx, organizationId: string, from: string, to: string): Promise<void>
}

export interface Removal {
  readonly id: string
  readonly removedAt: Date
  /** Private folders that the member owned at the time of the call, and recordings that no other user could see. */
  readonly privateFolders: number
  readonly privateRecordings: number
  /** The new owner; null if the former member still owns them. */
  readonly transferredTo: string | null
}

export type Members = ReturnType<typeof createMembers>

type MembersDeps = Pick<Deps, 'sql' | 'log'> & {
  readonly identity: Pick<Identity, 'forgetUser'>
  readonly privateContent: PrivateContent
}

export function createMembers({ sql, log, identity, privateContent }: MembersDeps) {
  return {
    /** Newest first, with one row more than the limit. */
    list: (organizationId: string, removed: boolean, slice: TimeSlice) =>
      store.selectMembers(sql, organizationId, removed, slice),

    /** A present, invited or former member with this id or e-mail address. @throws AppError 404 `member_not_found` */
    async find(organizationId: string, idOrEmail: string): Promise<store.Member> {
      const member = await store.findMember(sql, organizationId, idOrEmail)
      if (member === null) throw noMember()
      return member
    },

    /**
     * Takes effect in this process at once, in the others within 5 seconds.
     * @throws AppError 404 `member_not_found`; 409 `last_administrator`
     */
    async setRole(
      organizationId: string,
      userId: string,
      role: Role,
      also?: Alongside<store.Member>,
    ): Promise<store.Member> {
      if (!isUuid(userId)) throw noMember()
      const member = await transaction(sql, async (tx) => {
        await store.lockPerson(tx, organizationId, userId)
        const present = await store.lockMemberships(tx, organizationId, [userId])
        if (role !== 'administrator') assertNotLast(present, userId)
        if (!(await store.updateRole(tx, organizationId, userId, role))) throw noMember()
        const found = await store.findMember(tx, organizationId, userId)
        if (found === null) throw noMember()
        await also?.(tx, found)
        return found
      })
      identity.forgetUser(userId)
      log.info({ organizationId, userId, role }, 'role of a member changed')
      return member
    },

    /**
     * Repeating it changes nothing, except that a later call may add `transferTo`.
     * @throws AppError 404 `member_not_found`; 400 if `transferTo` is not another member; 409 `last_administrator`
     */
    async remove(
      organizationId: string,
      userId: string,
      transferTo?: string,
      also?: Alongside<Removal>,
    ): Promise<Removal> {
      if (!isUuid(userId)) throw noMember()
      const removal = await transaction(sql, async (tx) => {
        await store.lockPerson(tx, organizationId, userId)
        const locked = transferTo === undefined ? [userId] : [userId, transferTo]
        const present = await store.lockMemberships(tx, organizationId, locked)
        assertNotLast(present, userId)
        await refuseUserTokensOf(tx, organizationId, userId)
        const withdrawnAt = await deleteInvitation(tx, organizationId, userId)
        const ended = await store.deleteMembership(tx, organizationId, userId)
        const removedAt = (await store.selectRemoval(tx, organizationId, userId)) ?? withdrawnAt
        if (removedAt === null) throw noMember()
        const found = await privateContent.count(tx, organizationId, userId)
        if (transferTo !== undefined) {
          assertOtherMember(present, userId, transferTo)
          await privateContent.handOver(tx, organizationId, userId, transferTo)
        }
        const result: Removal = {
          id: userId,
          removedAt,
          privateFolders: found.folders,
          privateRecordings: found.recordings,
          transferredTo: transferTo ?? null,
        }
        await also?.(tx, result)
        return { ended, result }
      })
      identity.forgetUser(userId)
      if (removal.ended) log.info({ organizationId, userId }, 'member removed')
      return removal.result
    },
  }
}

/** @throws AppError 409 `last_administrator` */
function assertNotLast(present: ReadonlyMap<string, Role>, userId: string): void {
  const others = [...present].filter(([id, role]) => role === 'administrator' && id !== userId.toLowerCase())
  if (present.get(userId.toLowerCase()) !== 'administrator' || others.length > 0) return
  const message = 'The member is the last administrator. Make another member an administrator first.'
  throw new AppError('last_administrator', message)
}

function assertOtherMember(present: ReadonlyMap<string, Role>, userId: string, transferTo: string): void {
  if (transferTo !== userId && present.has(transferTo)) return
  const message = 'must be another member of the organization'
  throw new AppError('validation_failed', `transferTo: ${message}`, {
    details: [{ path: 'transferTo', code: 'not_a_member', message }],
  })
}
