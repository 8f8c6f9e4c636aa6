/**
 * Use cases of invitations. Whom an organization adds becomes a member at once if no other organization knows the address. Anybody else
 * is asked first: by mail, and in the console. Only the operator adds people without asking them.
 */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Deps } from '../../kernel/deps.ts'
import { invitationMessages } from '../../kernel/messages/invitation.ts'
import type { Role } from '../../kernel/roles.rules.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Sql, Tx } from '../../platform/db/pool.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { lockAccount, type NewAccount } from './accounts.ts'
import * as store from './invitations.store.ts'
import { insertMembership, lockMember, lockPerson } from './members.store.ts'
import type { User } from './store.ts'

export type { Invitation } from './invitations.store.ts'

/** Invitations of one person that are shown at once. */
const MOST_SHOWN = 20

interface Invitee extends NewAccount {
  readonly role: Role
  /** Where the link in the mail leads; null: no mail. */
  readonly baseUrl: string | null
}

type Added = User & { readonly isInvited: boolean }

export interface Invitations {
  /** Makes the person a member, or asks them first. @throws AppError 400, 404; 409 `member_exists` */
  addPerson(organizationId: string, person: Invitee, also?: Alongside<Added>): Promise<Added>
  /** The newest of the user, at most 20. */
  invitationsOf(userId: string): Promise<readonly store.Invitation[]>
  /** Whether the mail of the invitation may be sent: one a day of an organization, and three to a person. Repeating it changes nothing. */
  admitInvitationMail(tx: Tx, userId: string, invitation: store.Invitation): Promise<boolean>
  /** Null if there is none any more. */
  findInvitation(organizationId: string, userId: string): Promise<store.Invitation | null>
  /** Makes the user a member, from the next request of every process. @throws AppError 404 `invitation_not_found` */
  acceptInvitation(organizationId: string, userId: string, also?: Alongside<store.Invitation>): Promise<void>
  /** @throws AppError 404 `invitation_not_found` */
  declineInvitation(organizationId: string, userId: string, also?: Alongside<store.Invitation>): Promise<void>
}

/** Mails with invitations to one person in a day. */
const MOST_MAILS = 3

/** `forget` drops a user from the caches of this process. */
export function createInvitations(
  deps: Pick<Deps, 'sql' | 'notifier' | 'newId'>,
  forget: (userId: string) => void,
): Invitations {
  const { sql, newId } = deps

  /** Locks the invitation until the transaction ends. */
  async function find(tx: Tx, organizationId: string, userId: string): Promise<store.Invitation> {
    if (isUuid(organizationId)) {
      await lockPerson(tx, organizationId, userId)
      const invitation = await store.findInvitation(tx, organizationId, userId)
      if (invitation !== null) return invitation
    }
    throw new AppError('invitation_not_found', 'There is no such invitation.')
  }

  return {
    async addPerson(organizationId, { role, baseUrl, ...account }, also) {
      const added = await transactionWithOutbox(deps, async (tx, outbox) => {
        const user = await lockAccount(tx, newId, organizationId, account)
        const userId = user.id
        if (await lockMember(tx, organizationId, userId)) throw memberExists(user)
        const isInvited = await store.isKnownElsewhere(tx, organizationId, userId)
        if (isInvited) {
          const name = nameOf('name', account.name)
          if (!(await store.insertInvitation(tx, { organizationId, userId, role, name })))
            throw new AppError('member_exists', `${user.email} is invited already.`)
          if (baseUrl !== null)
            await outbox.send([
              invitationMessages.message(newId(), 'send', { organizationId, payload: { userId, baseUrl } }),
            ])
        } else await insertMembership(tx, { organizationId, userId, role })
        const added = { ...user, isInvited }
        await also?.(tx, added)
        return added
      })
      forget(added.id)
      return added
    },
    invitationsOf: (userId) => store.selectInvitations(sql, userId, MOST_SHOWN),
    admitInvitationMail: (tx, userId, { organizationId, invitedAt }) =>
      store.admitInvitationMail(tx, { organizationId, userId, invitedAt }, MOST_MAILS),
    findInvitation: (organizationId, userId) => store.findInvitation(sql, organizationId, userId),
    async acceptInvitation(organizationId, userId, also) {
      await transaction(sql, async (tx) => {
        const invitation = await find(tx, organizationId, userId)
        await insertMembership(tx, { organizationId, userId, role: invitation.role })
        await also?.(tx, invitation)
      })
      forget(userId)
    },
    async declineInvitation(organizationId, userId, also) {
      await transaction(sql, async (tx) => {
        const invitation = await find(tx, organizationId, userId)
        await store.deleteInvitation(tx, organizationId, userId)
        await also?.(tx, invitation)
      })
    },
  }
}

/** For `earshot doctor`. */
export async function describeInvitations(sql: Sql): Promise<string> {
  const tokens = await store.countTokensOfInvited(sql)
  return `${tokens} tokens refused, because their users have not accepted`
}

export const memberExists = ({ email }: Pick<User, 'email'>) =>
  new AppError('member_exists', `${email} is a member already.`)
