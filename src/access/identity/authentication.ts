/**
 * Turns a presented credential into the principal behind it. Every look-up goes through a cache. `last_used_at` is written
 * in the background, so that the request does not wait for it.
 */
import type { Deps } from '../../kernel/deps.ts'
import type {
  AgentPrincipal,
  Authentication,
  OrganizationPrincipal,
  PagePrincipal,
  Refusal,
} from '../../kernel/principal.ts'
import { isUuid } from '../../platform/ids.ts'
import { createCredentialCache, type Found } from './credential-cache.ts'
import * as credentials from './credentials.store.ts'
import { hashKey, isKey } from './keys.ts'
import { selectAccess } from './oauth-records.store.ts'
import { findPublishableKey, touchPublishableKey } from './publishable-keys.store.ts'
import { selectSession, touchSession } from './sessions.store.ts'
import type { GoodToken, Tokens } from './tokens.ts'
import { type Membership, type Memberships, selectAdmission, touchUserToken } from './user-tokens.store.ts'

export interface AuthenticationParts extends Authentication {
  /** Drops a credential from the caches of this process at once. */
  forget(id: string): void
}

type AuthenticationDeps = Pick<Deps, 'sql' | 'listening' | 'log' | 'clock'>

interface VerifiedToken extends Memberships {
  readonly expiresAt: Date
  /** Of a token that an OAuth client got; null for user tokens and sessions. */
  readonly oauth: { readonly audience: string; readonly scopes: readonly string[] } | null
  /** The organization that issued it for itself alone; null if it is valid in every organization of the user. */
  readonly boundTo: string | null
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

  /** The token as it was remembered or found; one that opens no organization is never remembered. */
  async function verified(token: string): Promise<VerifiedToken | Refusal> {
    let fresh: VerifiedToken | Refusal = { refused: 'The access token is not valid.' }
    const known = await userTokens.get(hashKey(token), async () => {
      const found = await verifyToken(deps, tokens, token, recordUse)
      fresh = 'refused' in found ? found : found.value
      return opensSomething(found) ? found : null
    })
    const result = known ?? fresh
    if ('refused' in result || result.expiresAt > deps.clock.now()) return result
    return { refused: 'The access token has expired.' }
  }

  async function verifiedSession(secret: string): Promise<VerifiedSession | Refusal> {
    if (!isKey('ess', secret)) return ENDED_SESSION
    const hash = hashKey(secret)
    let fresh: VerifiedSession | Refusal = ENDED_SESSION
    const known = await sessions.get(hash, async () => {
      const found = await findSession(deps, hash, recordUse)
      fresh = 'refused' in found ? found : found.value
      return opensSomething(found) ? found : null
    })
    const result = known ?? fresh
    return 'refused' in result || result.expiresAt > deps.clock.now() ? result : ENDED_SESSION
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
      const found = await verified(token)
      if ('refused' in found) return found
      const picked = pickOrganization(found, wanted)
      if ('refused' in picked) return picked
      const bound = found.boundTo === null ? {} : { isBound: true as const }
      return { ...userOf(found, picked), ...found.oauth, ...bound }
    },
    async bySession(secret, wanted) {
      const found = await verifiedSession(secret)
      if ('refused' in found) return found
      const picked = pickOrganization(found, wanted)
      return 'refused' in picked ? picked : { ...userOf(found, picked), sessionId: found.sessionId }
    },
    async personByToken(token) {
      const found = await verified(token)
      if ('refused' in found) return found
      // RFC 8707 section 2: a token that was issued for another resource is good there only.
      if (found.oauth !== null)
        return { refused: 'The access token was issued for another resource than the REST API.' }
      if (found.boundTo !== null) return { refused: BOUND, isBound: true }
      return { kind: 'person', userId: found.userId }
    },
    async personBySession(secret) {
      const found = await verifiedSession(secret)
      if ('refused' in found) return found
      return { kind: 'person', userId: found.userId, sessionId: found.sessionId }
    },
  }
}

const ENDED_SESSION: Refusal = { refused: 'The session has ended: sign in again.' }
const BOUND =
  'The token is bound to an organization. Operations on the person need a browser session, or a token that is valid in every organization.'

const opensSomething = <T extends VerifiedToken>(found: Found<T> | Refusal): found is Found<T> =>
  !('refused' in found) && found.value.memberships.length > 0

const userOf = ({ userId }: VerifiedToken, membership: Membership) =>
  ({ kind: 'user', userId, ...membership }) as const

async function findSession(
  { sql }: AuthenticationDeps,
  hash: Buffer,
  recordUse: (written: Promise<void>) => void,
): Promise<Found<VerifiedSession> | Refusal> {
  const row = await selectSession(sql, hash)
  if (row === null) return ENDED_SESSION
  const { stale, ...session } = row
  if (stale) recordUse(touchSession(sql, session.sessionId))
  return { id: session.userId, value: { ...session, oauth: null, boundTo: null } }
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
  const { userId, memberships, isGood, tokenId, stale, boundTo } = known
  if (!isGood) return { refused: 'The access token was revoked.' }
  if (tokenId !== null && stale) recordUse(touchUserToken(deps.sql, tokenId))
  return { id: userId, value: { userId, memberships, expiresAt, oauth: null, boundTo } }
}

async function findAccess(
  { sql }: AuthenticationDeps,
  token: string,
): Promise<Found<VerifiedToken> | Refusal> {
  const row = await selectAccess(sql, hashKey(token))
  // A token without an audience would be good everywhere.
  if (row === null || row.audience === null) return { refused: 'The access token is not valid.' }
  const { userId, memberships, expiresAt, audience, scope } = row
  const scopes = scope?.split(' ') ?? []
  return { id: userId, value: { userId, memberships, expiresAt, oauth: { audience, scopes }, boundTo: null } }
}

const NO_ORGANIZATION =
  'The user is not a member of any organization that accepts the token. Invitations count once the user has accepted them.'

/** Tokens signed by another program may carry ids that are not UUIDs. */
function namesIds({ subject, tokenId }: GoodToken): boolean {
  return !('userId' in subject && !isUuid(subject.userId)) && (tokenId === null || isUuid(tokenId))
}

/** The organization that a user acts in: the wanted one, or the only one. */
function pickOrganization({ memberships }: Memberships, wanted: string | null): Membership | Refusal {
  const [only, ...others] = memberships
  if (only === undefined) return { refused: NO_ORGANIZATION }
  if (wanted !== null)
    return (
      memberships.find(({ organizationId }) => organizationId === wanted.toLowerCase()) ?? {
        refused: 'The user is not a member of the organization in X-Service-Organization-Key.',
      }
    )
  if (others.length === 0) return only
  return {
    refused:
      'The user is a member of several organizations: name one by its id in X-Service-Organization-Key.',
  }
}
