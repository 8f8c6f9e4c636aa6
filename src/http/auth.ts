/**
 * Authenticates a request: headers to principal, or 401 / 403 (specification, "Authentication").
 *
 * Every presented credential must be valid. A bad token beside a good key is 401. Falling back to the key would hide
 * the client's mistake until the key is revoked.
 */

import type { Config } from '../kernel/config.ts'
import type {
  Authentication,
  OrganizationPrincipal,
  PersonPrincipal,
  Principal,
  UserPrincipal,
} from '../kernel/principal.ts'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import type { Access, Operation } from './operation.ts'
import { assertNotForged, sessionSecretOf } from './session-cookie.ts'

export interface AuthenticateDeps {
  readonly config: Pick<Config, 'publicBaseUrl'>
  readonly identity: Authentication
  /** Counts an authentication failure of the client. @returns headers of the reply. @throws AppError 429 */
  readonly countFailure: (request: Request, peer: string | null) => Promise<Record<string, string>>
}

/** Who is calling: in one organization, or as a person. */
export type Caller = Principal | PersonPrincipal

/** Returns the address of the connection's other end. Called only after a failed authentication. */
export type Peer = () => string | null

const API_KEY = 'x-service-api-key'
const AGENT_SECRET = 'x-service-agent-key'
const ORGANIZATION = 'x-service-organization-key'

/** `WWW-Authenticate` of a refused agent secret. */
export const AGENT_CHALLENGE = 'ApiKey realm="earshot", header="X-Service-Agent-Key"'

const CHALLENGES: Record<Exclude<Access, 'public'>, string> = {
  agent: AGENT_CHALLENGE,
  organization: 'ApiKey realm="earshot", header="X-Service-Api-Key"',
  user: 'Bearer realm="earshot"',
  organizationOrUser: 'Bearer realm="earshot", ApiKey realm="earshot", header="X-Service-Api-Key"',
  person: 'Bearer realm="earshot"',
}

/** RFC 6750 section 2.1: the scheme is case-insensitive. */
const BEARER = /^bearer +([\w.~+/-]+=*)$/i

/** Becomes a 401. `challenge` is the value of `WWW-Authenticate` (RFC 9110 section 11.6.1). */
class Unauthenticated extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly challenge: string | null = null,
  ) {
    super(message)
  }
}

/** `mount` calls it before every operation. @throws AppError 401, 403, 429 or 503 */
export function createAuthenticate({ config, identity, countFailure }: AuthenticateDeps) {
  return async (
    request: Request,
    {
      access,
      organizationInQuery = false,
      isUnbound = false,
    }: Pick<Operation, 'access' | 'organizationInQuery' | 'isUnbound'>,
    peer: Peer,
  ): Promise<Caller | null> => {
    if (access === 'public') return null
    const wanted =
      request.headers.get(ORGANIZATION) ??
      (organizationInQuery ? new URL(request.url).searchParams.get('organization') : null)
    try {
      if (access === 'agent') return await byAgentSecret(identity, request.headers)
      if (access === 'person') return await person(identity, request, config)
      const user =
        (await byToken(request.headers, (token) => identity.byToken(token, wanted))) ??
        (access === 'organization'
          ? null
          : await bySession(request, config, (secret) => identity.bySession(secret, wanted)))
      const principal = await authenticate(identity, request.headers, access, user)
      if (isUnbound && user?.isBound === true) throw new AppError('unbound_credential_required', BOUND)
      return principal
    } catch (error) {
      if (!(error instanceof Unauthenticated)) throw error
      const headers = await countFailure(request, peer())
      throw new AppError(error.code, error.message, {
        headers: { ...headers, 'www-authenticate': error.challenge ?? CHALLENGES[access] },
      })
    }
  }
}

const BOUND =
  'The token is bound to the organization. This operation needs a browser session, or a token that is valid in every organization.'

async function authenticate(
  identity: Authentication,
  headers: Headers,
  access: Exclude<Access, 'public' | 'agent' | 'person'>,
  user: UserPrincipal | null,
): Promise<Principal> {
  const organization = await byApiKey(identity, headers)
  if (user !== null && organization !== null && user.organizationId !== organization.organizationId)
    throw new Unauthenticated(
      'unauthenticated',
      'The token and the API key belong to different organizations.',
    )
  const principal = access === 'organization' ? organization : user
  if (principal !== null) return principal
  if (access === 'organizationOrUser' && organization !== null) return organization
  if (access === 'user' && organization !== null)
    throw new AppError('user_required', 'This operation needs a user. An API key alone is not enough.')
  throw new Unauthenticated('unauthenticated', MISSING[access])
}

const MISSING: Record<'organization' | 'user' | 'organizationOrUser', string> = {
  organization: 'The API key is missing: send it in X-Service-Api-Key.',
  user: 'The access token is missing: send it as Authorization: Bearer.',
  organizationOrUser: 'Send an API key in X-Service-Api-Key or an access token as Authorization: Bearer.',
}

/** An API key beside the token must be good, like every credential, but it says nothing about the person. */
async function person(
  identity: Authentication,
  request: Request,
  config: Pick<Config, 'publicBaseUrl'>,
): Promise<PersonPrincipal> {
  const found =
    (await byToken(request.headers, identity.personByToken)) ??
    (await bySession(request, config, identity.personBySession))
  const organization = await byApiKey(identity, request.headers)
  if (found !== null) return found
  if (organization === null) throw new Unauthenticated('unauthenticated', MISSING.user)
  throw new AppError('user_required', 'This operation needs a user. An API key alone is not enough.')
}

async function byAgentSecret(identity: Authentication, headers: Headers): Promise<Principal> {
  const secret = headers.get(AGENT_SECRET)
  if (secret === null)
    throw new Unauthenticated(
      'invalid_agent_secret',
      'The agent secret is missing: send it in X-Service-Agent-Key.',
    )
  const principal = await identity.byAgentSecret(secret)
  if (principal !== null) return principal
  throw new Unauthenticated('invalid_agent_secret', 'The agent secret is unknown or has been revoked.')
}

/** @returns null if no API key was sent */
async function byApiKey(identity: Authentication, headers: Headers): Promise<OrganizationPrincipal | null> {
  const key = headers.get(API_KEY)
  if (key === null) return null
  const principal = await identity.byApiKey(key)
  if (principal !== null) return principal
  throw new Unauthenticated('unauthenticated', 'The API key is unknown or has been revoked.')
}

interface Refusal {
  readonly refused: string
  readonly isBound?: boolean
}

/**
 * The user of the browser's session. Browsers add the cookie to every request, so it counts only if the caller sent no other
 * credential. @returns null if it does not count @throws AppError 403 `csrf_check_failed`
 */
async function bySession<P extends object>(
  request: Request,
  config: Pick<Config, 'publicBaseUrl'>,
  find: (secret: string) => Promise<P | Refusal>,
): Promise<P | null> {
  if (request.headers.has(API_KEY)) return null
  const secret = sessionSecretOf(request, config)
  if (secret === null) return null
  const principal = await find(secret)
  if ('refused' in principal) throw new Unauthenticated('unauthenticated', principal.refused)
  assertNotForged(request, config, secret)
  return principal
}

/** @returns null if no `Authorization` was sent @throws AppError 403 `unbound_credential_required` */
async function byToken<P extends { readonly audience?: string } | PersonPrincipal>(
  headers: Headers,
  find: (token: string) => Promise<P | Refusal>,
): Promise<P | null> {
  const authorization = headers.get('authorization')
  if (authorization === null) return null
  const token = BEARER.exec(authorization)?.[1]
  const principal =
    token === undefined
      ? { refused: 'The Authorization header must be: Bearer, a space, and the access token.' }
      : await find(token)
  if ('refused' in principal) {
    if ('isBound' in principal && principal.isBound === true)
      throw new AppError('unbound_credential_required', principal.refused)
    throw invalidToken(principal.refused)
  }
  // RFC 8707 section 2: a token that was issued for another resource is good there only.
  if ('audience' in principal && principal.audience !== undefined)
    throw invalidToken('The access token was issued for another resource than the REST API.')
  return principal
}

/** RFC 6750 section 3: unlike the bare challenge, this one states that a token was sent and refused. */
function invalidToken(refused: string): Unauthenticated {
  return new Unauthenticated(
    'unauthenticated',
    refused,
    `Bearer realm="earshot", error="invalid_token", error_description="${refused}"`,
  )
}
