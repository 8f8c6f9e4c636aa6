/**
 * Organizations, users and their credentials.
 *
 * The clear text of a key or secret leaves this module once, in the response that creates it. Every object is looked up
 * together with its organization, so another organization's object is 404.
 */

import type { Deps } from '../../kernel/deps.ts'
import type { Authentication } from '../../kernel/principal.ts'
import { DEFAULT_ROLE, type Role } from '../../kernel/roles.rules.ts'
import { type Alongside, together } from '../../platform/db/alongside.ts'
import type { Query } from '../../platform/db/pool.ts'
import { errorCode } from '../../platform/db/sqlstate.ts'
import { transaction } from '../../platform/db/transaction.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { isTimeZone } from '../../platform/time-zone.rules.ts'
import { invalid } from '../../platform/validation/json.ts'
import { nameOf } from '../../platform/validation/names.ts'
import { lockAccount, type NewAccount } from './accounts.ts'
import { type ApiKeys, createApiKeys } from './api-keys.ts'
import { createAuthentication } from './authentication.ts'
import * as credentials from './credentials.store.ts'
import { type Credits, type CreditsDeps, createCredits } from './credits.ts'
import { createInvitations, type Invitations, memberExists } from './invitations.ts'
import { createKey } from './keys.ts'
import { findMember, insertMembership } from './members.store.ts'
import { createOAuthRecords, type OAuthRecords } from './oauth-records.ts'
import { createPublishableKeys, type PublishableKeys } from './publishable-keys.ts'
import { createSessions, type Sessions } from './sessions.ts'
import * as store from './store.ts'
import { createTokens } from './tokens.ts'
import { createUserTokens, type UserTokens } from './user-tokens.ts'

export type { ApiKey, Credential } from './credentials.store.ts'
export type { Invitation } from './invitations.ts'
export type { ErasedOrganization, Organization, User } from './store.ts'

export type IdentityDeps = Pick<
  Deps,
  'sql' | 'listening' | 'notifier' | 'config' | 'clock' | 'newId' | 'log'
> &
  Pick<CreditsDeps, 'wakeBlocked'>

interface NewUser extends NewAccount {
  /** Default: analyst. */
  readonly role?: Role | undefined
}

export interface Identity
  extends Authentication,
    UserTokens,
    ApiKeys,
    PublishableKeys,
    Credits,
    Sessions,
    Invitations {
  readonly oauthRecords: OAuthRecords
  /** Drops a user from the caches of this process at once. The caller that changes a user notifies the other processes. */
  forgetUser(userId: string): void
  /** Uses the caller's transaction if `query` is given. */
  createOrganization(name: string, query?: Query): Promise<store.Organization>
  /** Without those that are being erased. */
  listOrganizations(): Promise<readonly store.Organization[]>
  listErasedOrganizations(): Promise<readonly store.ErasedOrganization[]>
  /** Creates the organization of `earshot demo`. */
  createDemoOrganization(name: string): Promise<store.Organization>
  /** By id or exact name. @throws AppError 404 if none matches, or several share the name */
  findOrganization(idOrName: string): Promise<store.Organization>
  /**
   * Switches agent conversations or recording on or off, from the next request of every process, and sets the time zone.
   * @throws AppError 400 if there is no such time zone; 404
   */
  updateOrganization(
    organizationId: string,
    change: store.OrganizationChange,
    also?: Alongside<store.Organization>,
  ): Promise<store.Organization>
  /**
   * Makes the person with this address a member, without asking: only the operator may do so.
   * @throws AppError 400, 404; 409 `member_exists`
   */
  createUser(organizationId: string, user: NewUser, also?: Alongside<store.User>): Promise<store.User>
  /**
   * Makes an unknown person a viewer, and accepts an invitation. A former member is not added again.
   * @returns null for a former member @throws AppError 404 if there is no such organization
   */
  admitUser(
    organizationId: string,
    user: Omit<NewUser, 'role'>,
    also?: Alongside<store.User>,
  ): Promise<store.User | null>
  /** A member by id or e-mail address. @throws AppError 404 */
  findUser(organizationId: string, idOrEmail: string): Promise<store.User>
  /** Uses the caller's transaction if `query` is given. @throws AppError 404 `agent_application_not_found` */
  createSecret(
    organizationId: string,
    applicationId: string,
    query?: Query,
  ): Promise<credentials.Credential & { readonly agentSecret: string }>
  listSecrets(
    organizationId: string,
    applicationId: string,
    query?: Query,
  ): Promise<readonly credentials.Credential[]>
  /** @throws AppError 404 `agent_secret_not_found` */
  revokeSecret(organizationId: string, applicationId: string, id: string, query?: Query): Promise<void>
  /** Makes this process refuse a revoked secret at once. Call it after the revoking transaction has committed. */
  forgetSecret(id: string): void
}

export function createIdentity(deps: IdentityDeps): Identity {
  const tokens = createTokens(deps)
  const { forget, ...authentication } = createAuthentication(deps, tokens)
  return {
    ...authentication,
    ...organizations(deps),
    ...createApiKeys(deps, forget),
    ...agentSecrets(deps, forget),
    ...createPublishableKeys(deps, forget),
    ...createCredits(deps),
    ...createUserTokens(deps, tokens, forget),
    ...createSessions(deps, forget),
    ...createInvitations(deps, forget),
    oauthRecords: createOAuthRecords(deps.sql, forget),
    forgetUser: forget,
  }
}

function organizations({ sql, newId }: IdentityDeps) {
  /** @returns whether the user was no member before */
  const add = (organizationId: string, user: NewUser, also?: Alongside<store.User>) =>
    transaction(sql, async (tx) => {
      const row = await lockAccount(tx, newId, organizationId, user)
      const { role = DEFAULT_ROLE } = user
      const isNew = await insertMembership(tx, { organizationId, userId: row.id, role })
      if (isNew) await also?.(tx, row)
      return { user: row, isNew }
    })
  return {
    createOrganization: async (name: string, query: Query = sql) =>
      store.insertOrganization(query, { id: newId(), name: nameOf('name', name) }),
    listOrganizations: () => store.selectOrganizations(sql),
    listErasedOrganizations: () => store.selectErasedOrganizations(sql),
    createDemoOrganization: (name: string) =>
      store.insertOrganization(sql, { id: newId(), name: nameOf('name', name), isDemo: true }),
    async findOrganization(idOrName: string) {
      const [organization, another] = await store.selectOrganizationsNamed(sql, idOrName)
      if (organization === undefined) throw notFound(`organization ${JSON.stringify(idOrName)}`)
      if (another !== undefined)
        throw new AppError('not_found', `Several organizations have the name ${idOrName}: use the id.`)
      return organization
    },
    async updateOrganization(
      organizationId: string,
      change: store.OrganizationChange,
      also?: Alongside<store.Organization>,
    ) {
      if (change.timeZone !== undefined && !isTimeZone(change.timeZone)) throw noTimeZone()
      try {
        return await together(sql, also, async (query) => {
          const organization = await store.updateOrganization(query, organizationId, change)
          if (organization === undefined) throw notFound('organization')
          return organization
        })
      } catch (error) {
        throw errorCode(error) === '22023' ? noTimeZone(error) : error
      }
    },
    async createUser(organizationId: string, user: NewUser, also?: Alongside<store.User>) {
      const added = await add(organizationId, user, also)
      if (added.isNew) return added.user
      throw memberExists(added.user)
    },
    async admitUser(organizationId: string, user: Omit<NewUser, 'role'>, also?: Alongside<store.User>) {
      const known = await findMember(sql, organizationId, user.email)
      if (known?.status === 'former') return null
      // Two first sign-ins at the same time add one member.
      return (await add(organizationId, { ...user, role: known?.role ?? 'viewer' }, also)).user
    },
    async findUser(organizationId: string, idOrEmail: string) {
      const user = await store.selectMember(sql, organizationId, idOrEmail)
      if (user === null) throw notFound(`user ${JSON.stringify(idOrEmail)} in the organization`)
      return user
    },
  }
}

function agentSecrets({ sql, newId }: IdentityDeps, forget: (id: string) => void) {
  return {
    async createSecret(organizationId: string, applicationId: string, query: Query = sql) {
      const { secret, prefix, hash } = createKey('eas')
      const row = { id: newId(), organizationId, applicationId, prefix, hash }
      const created = await credentials.insertAgentSecret(query, row)
      if (created === null)
        throw new AppError('agent_application_not_found', 'There is no such agent application.')
      return { ...created, agentSecret: secret }
    },
    listSecrets: (organizationId: string, applicationId: string, query: Query = sql) =>
      credentials.selectAgentSecrets(query, organizationId, applicationId),
    forgetSecret: forget,
    async revokeSecret(organizationId: string, applicationId: string, id: string, query: Query = sql) {
      const revoked =
        isUuid(id) && (await credentials.revokeAgentSecret(query, organizationId, applicationId, id))
      if (!revoked) throw new AppError('agent_secret_not_found', 'The application has no such secret.')
      forget(id.toLowerCase())
    },
  }
}

function notFound(what: string): AppError {
  return new AppError('not_found', `There is no ${what}.`)
}

const noTimeZone = (cause?: unknown) => {
  const message = 'must be a name of the IANA time zone database, such as Europe/Berlin'
  const refusal = invalid([{ path: 'timeZone', code: 'time_zone', message }])
  if (cause !== undefined) refusal.cause = cause
  return refusal
}
