/**
 * Sign-in with an OpenID Connect provider: authorization code with PKCE, `state` and `nonce` (OpenID Connect Core 1.0, RFC 7636,
 * RFC 9207), by the library `oauth4webapi`. Every request to the provider obeys the outbound policy.
 */
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi'
import type { Config } from '../../kernel/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { SendOutbound } from '../../platform/net/outbound-request.ts'
import { PublicFetchError } from '../../platform/net/public-error.ts'
import type { Log } from '../../platform/observability/log.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import { isExactAddress } from '../../platform/validation/user-address.ts'

type OpenIdSettings = NonNullable<Config['openId']>

/** What the browser keeps while its user is at the provider. */
interface Attempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The person, as the provider describes them. */
export interface Person {
  readonly email: string
  readonly name: string
}

export interface OpenId {
  /** @returns the address of the provider to send the browser to @throws AppError 503 */
  start(redirectUri: string): Promise<{ readonly url: string; readonly attempt: Attempt }>
  /**
   * `callback`: the address that the provider sent the browser to.
   * @throws AppError 401 if the provider or a check refuses the person; 503
   */
  finish(callback: URL, attempt: Attempt, redirectUri: string): Promise<Person>
  /** @throws PublicFetchError, or an Error that completes "The provider cannot be used: …" */
  assertUsable(): Promise<void>
}

const SCOPE = 'openid email profile'
const DISCOVERY_MS = 3_600_000
const DEADLINE_MS = 10_000
const MAX_ANSWER_BYTES = 256 * 1024
const CLOCK_TOLERANCE_SECONDS = 30

/** Loads the library and the metadata of the provider when they are first needed. */
export function createOpenId(settings: OpenIdSettings, send: SendOutbound, log: Log): OpenId {
  const client: Client & { [key: symbol]: number } = { client_id: settings.clientId }
  let discovered: { readonly server: Promise<AuthorizationServer>; readonly at: number } | null = null

  async function load() {
    const library = await import('oauth4webapi')
    client[library.clockTolerance] = CLOCK_TOLERANCE_SECONDS
    const options = {
      [library.customFetch]: outboundFetch(send),
      [library.allowInsecureRequests]: settings.issuer.startsWith('http:'),
    }
    if (discovered === null || performance.now() - discovered.at > DISCOVERY_MS) {
      const server = discover(library, settings.issuer, options)
      discovered = { server, at: performance.now() }
      server.catch(() => {
        discovered = null
      })
    }
    return { library, options, server: await discovered.server }
  }

  return {
    async assertUsable() {
      const { server } = await load()
      endpointOf(server, 'authorization_endpoint')
      endpointOf(server, 'token_endpoint')
    },
    start: (redirectUri) =>
      withProvider(log, async () => {
        const { library, server } = await load()
        const attempt = {
          state: library.generateRandomState(),
          nonce: library.generateRandomNonce(),
          verifier: library.generateRandomCodeVerifier(),
        }
        const url = new URL(endpointOf(server, 'authorization_endpoint'))
        const query = {
          client_id: settings.clientId,
          response_type: 'code',
          redirect_uri: redirectUri,
          scope: SCOPE,
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
          code_challenge_method: 'S256',
        }
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
        return { url: url.href, attempt }
      }),
    finish: (callback, attempt, redirectUri) =>
      withProvider(log, async () => {
        const { library, options, server } = await load()
        endpointOf(server, 'token_endpoint')
        const params = library.validateAuthResponse(server, client, callback, attempt.state)
        const auth = clientAuth(library, settings, server)
        const response = await library.authorizationCodeGrantRequest(
          server,
          client,
          auth,
          params,
          redirectUri,
          attempt.verifier,
          options,
        )
        const tokens = await library.processAuthorizationCodeResponse(server, client, response, {
          expectedNonce: attempt.nonce,
          requireIdToken: true,
        })
        await library.validateApplicationLevelSignature(server, response, options)
        const claims = library.getValidatedIdTokenClaims(tokens)
        if (claims === undefined) throw refused('The provider returned no profile.')
        const isDescribed =
          claims.email !== undefined && (claims.email_verified !== undefined || settings.trustEmail)
        if (isDescribed || server.userinfo_endpoint === undefined) return personOf(claims, settings)
        const answer = await library.userInfoRequest(server, client, tokens.access_token, options)
        const described = await library.processUserInfoResponse(server, client, claims.sub, answer)
        // Some providers give the address with the ID token, and whether it is verified only here.
        return personOf({ ...claims, ...described }, settings)
      }),
  }
}

type Library = typeof import('oauth4webapi')

/** Some issuers end in a slash, which the settings strip. */
async function discover(
  library: Library,
  issuer: string,
  options: Parameters<Library['discoveryRequest']>[1],
): Promise<AuthorizationServer> {
  const response = await library.discoveryRequest(new URL(issuer), options)
  if (response.status !== 200) throw new ProviderFault(`its discovery answers ${response.status}`)
  const claimed: unknown = await response
    .clone()
    .json()
    .then((body) => (body as { readonly issuer?: unknown } | null)?.issuer)
    .catch(() => null)
  const expected = claimed === `${issuer}/` ? `${issuer}/` : issuer
  try {
    return await library.processDiscoveryResponse(new URL(expected), response)
  } catch (error) {
    throw new ProviderFault(`its discovery: ${(error as Error).message}`)
  }
}

function clientAuth(library: Library, settings: OpenIdSettings, server: AuthorizationServer): ClientAuth {
  if (settings.clientSecret === null) return library.None()
  const methods: unknown = server.token_endpoint_auth_methods_supported
  return !Array.isArray(methods) || methods.includes('client_secret_basic')
    ? library.ClientSecretBasic(settings.clientSecret)
    : library.ClientSecretPost(settings.clientSecret)
}

/** An address that every sign-in needs. @throws ProviderFault if the discovery lacks it */
function endpointOf(server: AuthorizationServer, name: 'authorization_endpoint' | 'token_endpoint'): string {
  const endpoint: unknown = server[name]
  if (typeof endpoint === 'string' && URL.canParse(endpoint)) return endpoint
  throw new ProviderFault(`its discovery has no ${name}`)
}

/**
 * Only a verified address identifies a user: anybody may enter any other one at some providers. Nothing else does, such as the user's id.
 * Some providers write the claim as text. An address of which the provider says that it is not verified is never taken.
 */
function personOf(claims: Readonly<Record<string, unknown>>, { trustEmail }: OpenIdSettings): Person {
  const { email, email_verified: isVerified = trustEmail, name } = claims
  if (typeof email !== 'string')
    throw refused(
      'The provider names no e-mail address for you. It must have one, and give it to this service (scope email).',
    )
  if (isVerified !== true && isVerified !== 'true')
    throw refused('The provider has not verified your e-mail address.')
  if (!isExactAddress(email)) throw refused('The provider names no valid e-mail address for you.')
  const shown = typeof name === 'string' && name.trim() !== '' ? name.trim() : email
  return { email, name: shown.slice(0, MAX_NAME) }
}

/** The `fetch` of the library. It never follows redirects. */
function outboundFetch(send: SendOutbound) {
  return async (url: string, init: { method?: string; headers?: unknown; body?: unknown }) => {
    const body = init.body instanceof URLSearchParams ? init.body.toString() : null
    const answer = await send(url, {
      method: init.method === 'POST' ? 'POST' : 'GET',
      headers: Object.fromEntries(new Headers(init.headers as Record<string, string>)),
      ...(body === null ? {} : { body }),
      signal: new AbortController().signal,
      deadlineMs: DEADLINE_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
    })
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  }
}

/** Has no cause: the errors of the library contain answers of the provider. */
const refused = (message: string) => new AppError('unauthenticated', message)

/** The provider is out of order, or set up in a way that this service cannot use. `message` completes "The sign-in provider cannot be used: …". */
class ProviderFault extends Error {
  override readonly name = 'ProviderFault'
}

/** Codes of the library for what the person who signs in cannot change: an operator or the provider must. */
const FAULTS = [
  'HTTP_REQUEST_FORBIDDEN',
  'REQUEST_PROTOCOL_FORBIDDEN',
  'MISSING_SERVER_METADATA',
  'INVALID_SERVER_METADATA',
] as const satisfies readonly (keyof Library)[]

/** Turns errors of the library and of the network into answers, and logs their reason. None of them contains a token. */
async function withProvider<T>(log: Log, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) throw error
    const library = await import('oauth4webapi')
    if (error instanceof PublicFetchError) {
      log.warn({ err: error }, 'the provider of OpenID Connect cannot be reached')
      throw new AppError('unavailable', 'The sign-in provider cannot be reached at the moment.', {
        cause: error,
      })
    }
    if (isFault(library, error)) {
      log.warn({ reason: error.message }, 'the provider of OpenID Connect cannot be used')
      throw new AppError(
        'unavailable',
        'The sign-in provider cannot be used. The log of this service says why.',
      )
    }
    if (
      error instanceof library.AuthorizationResponseError ||
      error instanceof library.ResponseBodyError ||
      error instanceof library.WWWAuthenticateChallengeError ||
      error instanceof library.OperationProcessingError
    ) {
      // The message of the library, without the answer of the provider.
      log.warn({ reason: error.message, code: error.code }, 'a sign-in with OpenID Connect failed')
      throw refused('The sign-in did not work. Start it again.')
    }
    throw error
  }
}

function isFault(library: Library, error: unknown): error is Error {
  if (error instanceof ProviderFault || error instanceof library.UnsupportedOperationError) return true
  if (!(error instanceof library.OperationProcessingError)) return false
  // The library gives the response whose form or status it does not accept as cause.
  const { code, cause } = error as { readonly code?: string; readonly cause?: unknown }
  return FAULTS.some((name) => library[name] === code) || (cause instanceof Response && cause.status >= 500)
}
