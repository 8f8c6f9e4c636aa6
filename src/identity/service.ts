/**
 * Organizations, users, credentials and credits.
 *
 * The clear text of a key or secret leaves this module once, in the response that creates it. Every object is looked up
 * together with its organization, so another organization's object is 404.
 */

import { transactionWithOutbox } from '../actors/mailbox.ts'
import { wakeBlockedSessions } from '../agents/sessions/credits.ts'
import type { Deps } from '../container.ts'
import { DEFAULT_ROLE, type Role } from '../http/roles.rules.ts'
import type { Query } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { AppError } from '../platform/errors.ts'
import { isUuid } from '../platform/ids.ts'
import { isEmail } from '../platform/validation/email-address.ts'
import { nameOf } from '../platform/validation/names.ts'
import { type Authentication, createAuthentication } from './authentication.ts'
import * as credentials from './credentials.store.ts'
import { createKey } from './keys.ts'
import { findMember } from './members.store.ts'
import { createOAuthRecords, type OAuthRecords } from './oauth-records.ts'
import { createSessions, type Sessions } from './sessions.ts'
import * as store from './store.ts'
import { createTokens } from './tokens.ts'
import { createUserTokens, type UserTokens } from './user-tokens.ts'

export type { ApiKey, Credential } from './credentials.store.ts'
export type { Member, Organization, User } from './store.ts'

export type IdentityDeps = Pick<Deps, 'sql' | 'notifier' | 'config' | 'clock' | 'newId' | 'log'>

export interface NewUser {
  readonly email: string
  readonly name: string
  /** Default: analyst. */
  readonly role?: Role | undefined
}

export interface Identity extends Authentication, UserTokens, Sessions {
  readonly oauthRecords: OAuthRecords
  /** Drops a user from the caches of this process at once. The caller that changes a user notifies the other processes. */
  forgetUser(userId: string): void
  /** Uses the caller's transaction if `query` is given. */
  createOrganization(name: string, query?: Query): Promise<store.Organization>
  listOrganizations(): Promise<readonly store.Organization[]>
  /** By id or exact name. @throws AppError 404 if none matches, or several share the name */
  findOrganization(idOrName: string): Promise<store.Organization>
  /** Switches agent conversations or recording on or off, from the next request of every process. @throws AppError 404 */
  updateOrganization(organizationId: string, change: store.OrganizationChange): Promise<store.Organization>
  /** Creates a user as a member. A known user with this e-mail address is added instead. @throws AppError 409 for a member */
  createUser(organizationId: string, user: NewUser): Promise<store.User>
  /**
   * Makes an unknown person a viewer. A former member is not added again.
   * @returns null for a former member @throws AppError 404 if there is no such organization
   */
  admitUser(organizationId: string, user: Omit<NewUser, 'role'>): Promise<store.User | null>
  listUsers(organizationId: string): Promise<readonly store.Member[]>
  /** A member by id or e-mail address. @throws AppError 404 */
  findUser(organizationId: string, idOrEmail: string): Promise<store.User>
  createApiKey(
    organizationId: string,
    name: string,
  ): Promise<credentials.ApiKey & { readonly apiKey: string }>
  listApiKeys(organizationId: string): Promise<readonly credentials.ApiKey[]>
  /** Every process refuses the key from now on. @throws AppError 404 */
  revokeApiKey(organizationId: string, id: string): Promise<void>
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
  /** Adds units and wakes sessions that wait for credits. @returns the balance; null: unlimited */
  addCredits(organizationId: string, units: number, note?: string): Promise<number | null>
  /** Sets the balance, null for unlimited, and wakes sessions that wait for credits. */
  setCredits(organizationId: string, units: number | null, note?: string): Promise<void>
}

export function createIdentity(deps: IdentityDeps): Identity {
  const tokens = createTokens(deps)
  const { forget, ...authentication } = createAuthentication(deps, tokens)
  return {
    ...authentication,
    ...organizations(deps),
    ...apiKeys(deps, forget),
    ...agentSecrets(deps, forget),
    ...credits(deps),
    ...createUserTokens(deps, tokens, forget),
    ...createSessions(deps, forget),
    oauthRecords: createOAuthRecords(deps.sql, forget),
    forgetUser: forget,
  }
}

function organizations({ sql, newId }: IdentityDeps) {
  const add = (organizationId: string, user: NewUser): Promise<{ user: store.User; isNew: boolean }> => {
    const email = nameOf('email', user.email)
    if (!isEmail(email))
      throw new AppError('validation_failed', `${JSON.stringify(email)} is not an e-mail address.`)
    return transaction(sql, async (tx) => {
      const row = await store.upsertUser(tx, { id: newId(), email, name: nameOf('name', user.name) })
      const { role = DEFAULT_ROLE } = user
      const isNew = await store.insertMembership(tx, { organizationId, userId: row.id, role })
      return { user: row, isNew }
    })
  }
  return {
    createOrganization: async (name: string, query: Query = sql) =>
      store.insertOrganization(query, { id: newId(), name: nameOf('name', name) }),
    listOrganizations: () => store.selectOrganizations(sql),
    async findOrganization(idOrName: string) {
      const [organization, another] = await store.selectOrganizationsNamed(sql, idOrName)
      if (organization === undefined) throw notFound(`organization ${JSON.stringify(idOrName)}`)
      if (another !== undefined)
        throw new AppError('not_found', `Several organizations have the name ${idOrName}: use the id.`)
      return organization
    },
    async updateOrganization(organizationId: string, change: store.OrganizationChange) {
      const organization = await store.updateOrganization(sql, organizationId, change)
      if (organization === undefined) throw notFound('organization')
      return organization
    },
    async createUser(organizationId: string, user: NewUser) {
      const added = await add(organizationId, user)
      if (added.isNew) return added.user
      throw new AppError('name_exists', `${added.user.email} is a member already.`)
    },
    async admitUser(organizationId: string, user: Omit<NewUser, 'role'>) {
      const known = await findMember(sql, organizationId, user.email)
      if (known !== null && known.removedAt !== null) return null
      if (!(await store.hasOrganization(sql, organizationId))) throw notFound('organization')
      // Two first sign-ins at the same time add one member.
      return (await add(organizationId, { ...user, role: 'viewer' })).user
    },
    listUsers: (organizationId: string) => store.selectUsers(sql, organizationId),
    async findUser(organizationId: string, idOrEmail: string) {
      const user = await store.selectMember(sql, organizationId, idOrEmail)
      if (user === null) throw notFound(`user ${JSON.stringify(idOrEmail)} in the organization`)
      return user
    },
  }
}

function apiKeys({ sql, newId }: IdentityDeps, forget: (id: string) => void) {
  return {
    async createApiKey(organizationId: string, name: string) {
      const { secret, prefix, hash } = createKey('esk')
      const row = { id: newId(), organizationId, name: nameOf('name', name), prefix, hash }
      return { ...(await credentials.insertApiKey(sql, row)), apiKey: secret }
    },
    listApiKeys: (organizationId: string) => credentials.selectApiKeys(sql, organizationId),
    async revokeApiKey(organizationId: string, id: string) {
      const revoked = isUuid(id) && (await credentials.revokeApiKey(sql, organizationId, id))
      if (!revoked) throw notFound('API key in the organization')
      forget(id.toLowerCase())
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

function credits(deps: IdentityDeps) {
  /**
   * Runs `change`, which locks the organization's row, and then wakes blocked sessions. Metering locks the same row before
   * it blocks a response. So metering either sees the new balance, or its blocked response is found here.
   */
  const changeAndWake = <T>(
    organizationId: string,
    change: (tx: Parameters<typeof store.addCredits>[0]) => Promise<T>,
  ) =>
    transactionWithOutbox(deps, async (tx, outbox) => {
      const result = await change(tx)
      await wakeBlockedSessions(tx, outbox, organizationId)
      return result
    })
  return {
    async addCredits(organizationId: string, units: number, note?: string) {
      if (!Number.isSafeInteger(units) || units <= 0)
        throw new AppError('validation_failed', 'Credits are added as a whole number from 1.')
      const entry = { id: deps.newId(), organizationId, amount: units, note: note ?? null }
      const balance = await changeAndWake(organizationId, (tx) => store.addCredits(tx, entry))
      if (balance === undefined) throw notFound('organization')
      return balance
    },
    async setCredits(organizationId: string, units: number | null, note?: string) {
      if (units !== null && (!Number.isSafeInteger(units) || units < 0))
        throw new AppError('validation_failed', 'A balance is a whole number from 0, or unlimited.')
      const entry = { id: deps.newId(), organizationId, balance: units, note: note ?? null }
      const found = await changeAndWake(organizationId, (tx) => store.setCredits(tx, entry))
      if (!found) throw notFound('organization')
    },
  }
}

function notFound(what: string): AppError {
  return new AppError('not_found', `There is no ${what}.`)
}
