/**
 * Turns a presented credential into the principal behind it. Every look-up goes through a cache. `last_used_at` is written
 * in the background, so that the request does not wait for it.
 */
import type { Deps } from '../container.ts'
import { isUuid } from '../platform/ids.ts'
import { createCredentialCache, type Found } from './credential-cache.ts'
import * as credentials from './credentials.store.ts'
import { hashKey, isKey } from './keys.ts'
import { selectAccess } from './oauth-records.store.ts'
import type { Principal } from './principal.ts'
import { findPublishableKey, touchPublishableKey } from './publishable-keys.store.ts'
import { selectSession, touchSession } from './sessions.store.ts'
import { acceptInvitation } from './store.ts'
import type { GoodToken, Tokens } from './tokens.ts'
import { type Membership, type Memberships, selectAdmission, touchUserToken } from './user-tokens.store.ts'

export type OrganizationPrincipal = Extract<Principal, { kind: 'organization' }>
type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
export type UserPrincipal = Extract<Principal, { kind: 'user' }>

/**
 * A web page with a publishable key. It is no `Principal`, so that the compiler keeps it out of every operation: it can only send what
 * the widget sends.
 */
export interface PagePrincipal {
  readonly organizationId: string
  readonly applicationId: string
  readonly keyId: string
  /** Origins of the pages that may use the key. */
  readonly origins: readonly string[]
}

/** One sentence for the caller: why a token was refused. */
interface Refusal {
  readonly refused: string
}

export interface Authentication {
  /** Null if the key is unknown or revoked. */
  byApiKey(key: string): Promise<OrganizationPrincipal | null>
  /** Null if the secret is unknown or revoked. */
  byAgentSecret(secret: string): Promise<AgentPrincipal | null>
  /** Null if the key is unknown or revoked. The caller checks the origin. */
  byPublishableKey(key: string): Promise<PagePrincipal | null>
  /**
   * `wanted` is the organization that the caller names. With null, the user must be a member of exactly one, invitations aside.
   * Acting in an organization accepts its invitation.
   * @throws AppError 503 if the keys of the token issuer cannot be read
   */
  byToken(token: string, wanted: WantedOrganization): Promise<UserPrincipal | Refusal>
  /** The secret of a browser session, from its cookie. `wanted` as for `byToken`. */
  bySession(secret: string, wanted: WantedOrganization): Promise<UserPrincipal | Refusal>
}

/**
 * An organization id; null if the caller names none. `any`: the first one of a user who is a member of several, for requests
 * that concern the user alone.
 */
export type WantedOrganization = string | null | { readonly any: true }

export interface AuthenticationParts extends Authentication {
  /** Drops a credential from the caches of this process at once. */
  forget(id: string): void
}

type AuthenticationDeps = Pick<Deps, 'sql' | 'log' | 'clock'>

interface VerifiedToken extends Memberships {
  readonly expiresAt: Date
  /** Of a token that an OAuth client got; null for user tokens and sessions. */
  readonly oauth: { readonly audience: string; readonly scopes: readonly string[] } | null
  /** False if an organization issued it: the user may not know that they were invited. */
  readonly accepts: boolean
}

interface VerifiedSession extends VerifiedToken {
  readonly sessionId: string
}

export function createAuthentication(deps: AuthenticationDeps, tokens: Tokens): AuthenticationParts {
  const apiKeys = createCredentialCache<OrganizationPrincipal>(deps)
  const agentSecrets = createCredentialCache<AgentPrincipal>(deps)
  const publishableKeys = createCredentialCache<PagePrincipal>(deps)
  const userTokens = createCredentialCache<VerifiedToken>(deps)
  const sessions = createCredentialCache<VerifiedSession>(deps)

  function recordUse(written: Promise<void>): void {
    written.catch((error: unknown) => {
      deps.log.warn({ err: error }, 'could not record the use of a credential')
    })
  }

  function act(verified: VerifiedToken, wanted: WantedOrganization): UserPrincipal | Refusal {
    const picked = pickOrganization(verified, wanted)
    if ('refused' in picked) return picked
    const { isInvited, ...membership } = picked
    const { organizationId } = membership
    const isChosen = wanted === null || typeof wanted === 'string'
    if (isInvited && verified.accepts && isChosen)
      recordUse(acceptInvitation(deps.sql, organizationId, verified.userId))
    return { kind: 'user', userId: verified.userId, ...membership }
  }

  return {
    forget(id) {
      for (const cache of [apiKeys, agentSecrets, publishableKeys, userTokens, sessions]) cache.revoke(id)
    },
    async byApiKey(key) {
      if (!isKey('esk', key)) return null
      const hash = hashKey(key)
      return apiKeys.get(hash, async () => {
        const row = await credentials.findApiKey(deps.sql, hash)
        if (row === null) return null
        if (row.stale) recordUse(credentials.touch(deps.sql, 'api_key', row.organizationId, row.id))
        return {
          id: row.id,
          value: { kind: 'organization', organizationId: row.organizationId, apiKeyId: row.id },
        }
      })
    },
    async byAgentSecret(secret) {
      if (!isKey('eas', secret)) return null
      const hash = hashKey(secret)
      return agentSecrets.get(hash, async () => {
        const row = await credentials.findAgentSecret(deps.sql, hash)
        if (row === null) return null
        if (row.stale) recordUse(credentials.touch(deps.sql, 'agent_secret', row.organizationId, row.id))
        const { id, organizationId, applicationId } = row
        return { id, value: { kind: 'agent', organizationId, applicationId, secretId: id } }
      })
    },
    async byPublishableKey(key) {
      if (!isKey('epk', key)) return null
      return publishableKeys.get(hashKey(key), async () => {
        const row = await findPublishableKey(deps.sql, key)
        if (row === null) return null
        const { id, organizationId, applicationId, origins } = row
        if (row.stale) recordUse(touchPublishableKey(deps.sql, organizationId, id))
        return { id, value: { organizationId, applicationId, keyId: id, origins } }
      })
    },
    async byToken(token, wanted) {
      let refusal: Refusal = { refused: 'The access token is not valid.' }
      const verified = await userTokens.get(hashKey(token), async () => {
        const found = await verifyToken(deps, tokens, token, recordUse)
        if (!('refused' in found)) return found
        refusal = found
        return null
      })
      if (verified === null) return refusal
      if (verified.expiresAt <= deps.clock.now()) return { refused: 'The access token has expired.' }
      const picked = act(verified, wanted)
      return 'refused' in picked ? picked : { ...picked, ...verified.oauth }
    },
    async bySession(secret, wanted) {
      const hash = isKey('ess', secret) ? hashKey(secret) : null
      const verified =
        hash === null ? null : await sessions.get(hash, () => findSession(deps, hash, recordUse))
      if (verified === null || verified.expiresAt <= deps.clock.now()) return { refused: ENDED_SESSION }
      const picked = act(verified, wanted)
      return 'refused' in picked ? picked : { ...picked, sessionId: verified.sessionId }
    },
  }
}

const ENDED_SESSION = 'The session has ended: sign in again.'

async function findSession(
  { sql }: AuthenticationDeps,
  hash: Buffer,
  recordUse: (written: Promise<void>) => void,
): Promise<Found<VerifiedSession> | null> {
  const row = await selectSession(sql, hash)
  if (row === null || row.memberships.length === 0) return null
  const { stale, ...session } = row
  if (stale) recordUse(touchSession(sql, session.sessionId))
  return { id: session.userId, value: { ...session, oauth: null, accepts: true } }
}

async function verifyToken(
  deps: AuthenticationDeps,
  tokens: Tokens,
  token: string,
  recordUse: (written: Promise<void>) => void,
): Promise<Found<VerifiedToken> | Refusal> {
  // User tokens are JSON Web Tokens; those of OAuth clients are opaque.
  if (tokens.signs && !token.includes('.')) return findAccess(deps, token)
  const verdict = await tokens.verify(token)
  if ('refused' in verdict) return verdict
  const { expiresAt } = verdict
  const known = namesIds(verdict) ? await selectAdmission(deps.sql, verdict) : null
  if (known === null) return { refused: 'The access token names an unknown user.' }
  const { userId, memberships, isGood, tokenId, stale, restricted } = known
  if (!isGood) return { refused: 'The access token was revoked.' }
  // Refusals are never cached: a user who is added to an organization gets in at once.
  if (memberships.length === 0) return { refused: NO_ORGANIZATION }
  if (tokenId !== null && stale) recordUse(touchUserToken(deps.sql, tokenId))
  return { id: userId, value: { userId, memberships, expiresAt, oauth: null, accepts: !restricted } }
}

async function findAccess(
  { sql }: AuthenticationDeps,
  token: string,
): Promise<Found<VerifiedToken> | Refusal> {
  const row = await selectAccess(sql, hashKey(token))
  // A token without an audience would be good everywhere.
  if (row === null || row.audience === null) return { refused: 'The access token is not valid.' }
  const { userId, memberships, expiresAt, audience, scope } = row
  if (memberships.length === 0) return { refused: NO_ORGANIZATION }
  const scopes = scope?.split(' ') ?? []
  return { id: userId, value: { userId, memberships, expiresAt, oauth: { audience, scopes }, accepts: true } }
}

const NO_ORGANIZATION = 'The user is not a member of any organization that accepts the token.'

/** Tokens signed by another program may carry ids that are not UUIDs. */
function namesIds({ subject, tokenId }: GoodToken): boolean {
  return !('userId' in subject && !isUuid(subject.userId)) && (tokenId === null || isUuid(tokenId))
}

/**
 * The organization that a user acts in: the wanted one, or the only one. Invitations count only if there is nothing else, so that no
 * organization can take a user away from another by adding them.
 */
function pickOrganization({ memberships }: Memberships, wanted: WantedOrganization): Membership | Refusal {
  if (typeof wanted === 'string') {
    const named = memberships.find(({ organizationId }) => organizationId === wanted.toLowerCase())
    return named === undefined
      ? { refused: 'The user is not a member of the organization in X-Service-Organization-Key.' }
      : named
  }
  const own = memberships.filter(({ isInvited }) => !isInvited)
  const [only, ...others] = own.length > 0 ? own : memberships
  if (only === undefined) return { refused: NO_ORGANIZATION }
  if (others.length > 0 && wanted === null)
    return {
      refused:
        'The user is a member of several organizations: name one by its id in X-Service-Organization-Key.',
    }
  return only
}
