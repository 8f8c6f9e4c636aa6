/**
 * Who calls the tools: a user, by a bearer token (specification, "Authentication", 7; RFC 6750; authorization of the Model Context
 * Protocol). Keys of organizations and cookies of browsers do not count here.
 */

import type { Config } from '../../../kernel/config.ts'
import type { Authentication, UserPrincipal } from '../../../kernel/principal.ts'
import { AppError } from '../../../platform/errors.ts'
import { metadataUrlOf, READ_SCOPE, resourceOf, scopesOf, WRITE_SCOPE } from './metadata.ts'

export interface AuthorizeDeps {
  readonly config: Pick<Config, 'publicBaseUrl' | 'oidc'>
  readonly identity: Pick<Authentication, 'byToken'>
  /** Counts a refused credential. @returns headers of the answer @throws AppError 429 */
  readonly countFailure: (request: Request, peer: string | null) => Promise<Record<string, string>>
}

const BEARER = /^bearer +([\w.~+/-]+=*)$/i
const ORGANIZATION = 'x-service-organization-key'

/** @throws AppError 401 with the challenge; 429; 503 */
export function createAuthorize({ config, identity, countFailure }: AuthorizeDeps) {
  async function refuse(request: Request, peer: string | null, why: string, isInvalid: boolean) {
    const headers = await countFailure(request, peer)
    const error: Record<string, string> = isInvalid ? { error: 'invalid_token', error_description: why } : {}
    return new AppError('unauthenticated', why, {
      headers: { ...headers, 'www-authenticate': challenge(request, config, error) },
    })
  }
  return async (request: Request, peer: string | null): Promise<UserPrincipal> => {
    const authorization = request.headers.get('authorization')
    if (authorization === null)
      throw await refuse(
        request,
        peer,
        'The access token is missing: send it as Authorization: Bearer.',
        false,
      )
    const token = BEARER.exec(authorization)?.[1]
    const found =
      token === undefined
        ? { refused: 'The Authorization header must be: Bearer, a space, and the access token.' }
        : await identity.byToken(token, request.headers.get(ORGANIZATION))
    if ('refused' in found) throw await refuse(request, peer, found.refused, true)
    if (found.audience !== undefined && found.audience !== resourceOf(request, config))
      throw await refuse(request, peer, 'The access token was issued for another resource.', true)
    return found
  }
}

/** @throws AppError 403 `insufficient_scope`, from which a client asks its user for more (RFC 6750 section 3.1) */
export function assertScope(
  request: Request,
  config: AuthorizeDeps['config'],
  { scopes }: UserPrincipal,
  changes: boolean,
): void {
  // Tokens that do not come from an OAuth client have no scopes and may do what the user may.
  if (scopes === undefined) return
  const needed = changes ? WRITE_SCOPE : READ_SCOPE
  if (scopes.includes(needed)) return
  const why = `The access token lacks the scope ${needed}.`
  const parameters = { error: 'insufficient_scope', error_description: why }
  throw new AppError('insufficient_scope', why, {
    headers: { 'www-authenticate': challenge(request, config, parameters, [...scopes, needed]) },
  })
}

function challenge(
  request: Request,
  config: AuthorizeDeps['config'],
  parameters: Readonly<Record<string, string>>,
  scopes: readonly string[] = scopesOf(config),
): string {
  const all = {
    realm: 'earshot',
    ...parameters,
    resource_metadata: metadataUrlOf(request, config),
    scope: [...new Set(scopes)].join(' '),
  }
  return `Bearer ${Object.entries(all)
    .map(([name, value]) => `${name}="${value.replaceAll(/["\\]/g, '')}"`)
    .join(', ')}`
}
