/**
 * From a presented credential to the principal behind it. Every look-up goes through the cache; the note of when a
 * credential was last used is written beside the request, never in its way.
 */
import type { Deps } from '../container.ts'
import { isUuid } from '../platform/ids.ts'
import { createCredentialCache, type Found } from './credential-cache.ts'
import * as credentials from './credentials.store.ts'
import { hashKey, isKey } from './keys.ts'
import type { Principal } from './principal.ts'
import type { GoodToken, Tokens } from './tokens.ts'
import { type Memberships, selectAdmission, touchUserToken } from './user-tokens.store.ts'

export type OrganizationPrincipal = Extract<Principal, { kind: 'organization' }>
export type AgentPrincipal = Extract<Principal, { kind: 'agent' }>
export type UserPrincipal = Extract<Principal, { kind: 'user' }>

/** Why a token was not accepted: one sentence for the caller. */
export interface Refusal {
  readonly refused: string
}

export interface Authentication {
  /** null: unknown or revoked. */
  byApiKey(key: string): Promise<OrganizationPrincipal | null>
  /** null: unknown or revoked. */
  byAgentSecret(secret: string): Promise<AgentPrincipal | null>
  /**
   * `wanted` is the organization that the caller picked; null picks the only one of a user who is in exactly one.
   * @throws AppError 503 where the keys of the token issuer cannot be read
   */
  byToken(token: string, wanted: string | null): Promise<UserPrincipal | Refusal>
}

export interface AuthenticationParts extends Authentication {
  /** Forgets a credential in this process at once. */
  forget(id: string): void
}

type AuthenticationDeps = Pick<Deps, 'sql' | 'log' | 'clock'>

interface VerifiedToken extends Memberships {
  readonly expiresAt: Date
}

export function createAuthentication(deps: AuthenticationDeps, tokens: Tokens): AuthenticationParts {
  const apiKeys = createCredentialCache<OrganizationPrincipal>(deps)
  const agentSecrets = createCredentialCache<AgentPrincipal>(deps)
  const userTokens = createCredentialCache<VerifiedToken>(deps)

  function noteUse(written: Promise<void>): void {
    written.catch((error: unknown) => {
      deps.log.warn({ err: error }, 'could not note the use of a credential')
    })
  }

  return {
    forget(id) {
      for (const cache of [apiKeys, agentSecrets, userTokens]) cache.revoke(id)
    },
    async byApiKey(key) {
      if (!isKey('esk', key)) return null
      const hash = hashKey(key)
      return apiKeys.get(hash, async () => {
        const row = await credentials.findApiKey(deps.sql, hash)
        if (row === null) return null
        if (row.stale) noteUse(credentials.touch(deps.sql, 'api_key', row.organizationId, row.id))
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
        if (row.stale) noteUse(credentials.touch(deps.sql, 'agent_secret', row.organizationId, row.id))
        const { id, organizationId, applicationId } = row
        return { id, value: { kind: 'agent', organizationId, applicationId, secretId: id } }
      })
    },
    async byToken(token, wanted) {
      let refusal: Refusal = { refused: 'The access token is not valid.' }
      const verified = await userTokens.get(hashKey(token), async () => {
        const found = await verifyToken(deps, tokens, token, noteUse)
        if (!('refused' in found)) return found
        refusal = found
        return null
      })
      if (verified === null) return refusal
      if (verified.expiresAt <= deps.clock.now()) return { refused: 'The access token has expired.' }
      return pickOrganization(verified, wanted)
    },
  }
}

async function verifyToken(
  deps: AuthenticationDeps,
  tokens: Tokens,
  token: string,
  noteUse: (written: Promise<void>) => void,
): Promise<Found<VerifiedToken> | Refusal> {
  const verdict = await tokens.verify(token)
  if ('refused' in verdict) return verdict
  const { expiresAt } = verdict
  const known = namesIds(verdict) ? await selectAdmission(deps.sql, verdict) : null
  if (known === null) return { refused: 'The access token is about nobody who is known here.' }
  const { userId, organizationIds, isGood, tokenId, stale } = known
  if (!isGood) return { refused: 'The access token was revoked.' }
  // Not remembered, as no refusal is: somebody who is added gets in at once.
  if (organizationIds.length === 0) return { refused: NO_ORGANIZATION }
  if (tokenId !== null && stale) noteUse(touchUserToken(deps.sql, tokenId))
  return { id: userId, value: { userId, organizationIds, expiresAt } }
}

const NO_ORGANIZATION = 'The user is not a member of any organization that accepts the token.'

/** A signed token may still carry ids of another program. */
function namesIds({ subject, tokenId }: GoodToken): boolean {
  return !('userId' in subject && !isUuid(subject.userId)) && (tokenId === null || isUuid(tokenId))
}

/** The organization that a user acts in: the wanted one, or the only one. Exported for its table test. */
export function pickOrganization(user: Memberships, wanted: string | null): UserPrincipal | Refusal {
  const { userId, organizationIds } = user
  if (wanted !== null) {
    const organizationId = organizationIds.find((id) => id === wanted.toLowerCase())
    return organizationId === undefined
      ? { refused: 'The user is not a member of the organization in X-Service-Organization-Key.' }
      : { kind: 'user', organizationId, userId }
  }
  const [organizationId, ...others] = organizationIds
  if (organizationId === undefined) return { refused: NO_ORGANIZATION }
  if (others.length > 0)
    return {
      refused:
        'The user is a member of several organizations: name one by its id in X-Service-Organization-Key.',
    }
  return { kind: 'user', organizationId, userId }
}
