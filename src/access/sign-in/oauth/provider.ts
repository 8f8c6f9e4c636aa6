/**
 * The OAuth authorization server: the library `oidc-provider` with the configuration of this service.
 *
 * Tokens are opaque and stored as digests, so revoking one takes effect at once. Every authorization asks the user again, and
 * the user is the one of the browser session of this service: the library's own session is never used a second time.
 */
import type { Configuration, FindAccount, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Config } from '../../../kernel/config.ts'
import type { Log } from '../../../platform/observability/log.ts'
import type { Identity } from '../../identity/service.ts'
import { ensureSigningKey } from '../../identity/signing-key.ts'
import { createAdapter, type Refusals } from './adapter.ts'
import { loadLibrary } from './load-library.ts'
import { audienceOf, DEFAULT_SCOPE } from './metadata.rules.ts'

export interface ProviderDeps {
  readonly config: Pick<Config, 'dataDir' | 'secretKey'>
  readonly identity: Pick<Identity, 'oauthRecords'>
  readonly log: Log
  /** Fetches the metadata document of a client under the outbound policy. */
  readonly fetchDocument: (url: string) => Promise<Response>
  /** Whether the current request may fetch a document that is not cached. */
  readonly mayFetch: () => Promise<boolean>
}

const OAUTH_PATH = '/oauth'
export const AUTHORIZE_PATH = `${OAUTH_PATH}/authorize`
export const REGISTER_PATH = `${OAUTH_PATH}/register`
export const TOKEN_PATH = `${OAUTH_PATH}/token`
export const REVOKE_PATH = `${OAUTH_PATH}/revoke`
export const JWKS_PATH = `${OAUTH_PATH}/jwks`
export const INTERACTION_PATH = `${OAUTH_PATH}/interaction`
export const METADATA_PATH = '/.well-known/oauth-authorization-server'

/** The media type of messages that become error pages. */
export const ERROR_TYPE = 'text/plain'

/** The library's own session. Nothing that it remembers counts: see `web.ts`. */
export const SESSION_COOKIE = 'earshot-oauth-session'

const MINUTE = 60
const DAY = 86_400

const TTL = {
  AuthorizationCode: MINUTE,
  AccessToken: 60 * MINUTE,
  RefreshToken: 30 * DAY,
  Grant: 180 * DAY,
  Interaction: 15 * MINUTE,
  Session: 15 * MINUTE,
  IdToken: 60 * MINUTE,
}

/** `baseUrl` is the issuer. Loads the library. */
export async function createProvider(deps: ProviderDeps, baseUrl: string): Promise<Provider> {
  const [library, key] = await Promise.all([
    loadLibrary(deps.log),
    ensureSigningKey(deps.config, 'id tokens'),
  ])
  const { oauthRecords } = deps.identity
  const refusals: Refusals = {
    alreadyUsed: () => new library.errors.InvalidGrant('it is used already'),
    tooManyClients: () => Object.assign(new library.errors.TemporarilyUnavailable(), { statusCode: 503 }),
  }
  const policy = library.interactionPolicy.base()
  const audience = audienceOf(baseUrl)
  const configuration: Configuration = {
    adapter: (name: string) => createAdapter(oauthRecords, name, refusals),
    jwks: { keys: [{ ...key, kty: 'OKP' }] } as NonNullable<Configuration['jwks']>,
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    clientAuthMethods: ['none'],
    clientDefaults: { token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'EdDSA' },
    responseTypes: ['code'],
    scopes: [],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: async () => false,
    ttl: TTL,
    routes: {
      authorization: AUTHORIZE_PATH,
      token: TOKEN_PATH,
      registration: REGISTER_PATH,
      revocation: REVOKE_PATH,
      jwks: JWKS_PATH,
      end_session: `${OAUTH_PATH}/end-session`,
    },
    cookies: cookies(),
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      dPoP: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, initialAccessToken: false, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02', allowFetch: deps.mayFetch },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          if (resource !== audience) throw new library.errors.InvalidTarget()
          return {
            scope: DEFAULT_SCOPE,
            audience,
            accessTokenTTL: TTL.AccessToken,
            accessTokenFormat: 'opaque',
          }
        },
      },
    } as Configuration['features'],
    findAccount: accountFinder(oauthRecords),
    interactions: { policy, url: (_, { uid }) => `${baseUrl}${INTERACTION_PATH}/${uid}` },
    // Only the consent of this very request counts.
    loadExistingGrant: async (ctx) => {
      const grantId = ctx.oidc.result?.consent?.grantId
      return grantId === undefined ? undefined : ctx.oidc.provider.Grant.find(grantId)
    },
    clientBasedCORS: () => true,
    fetch: ((url: string | URL) => deps.fetchDocument(String(url))) as NonNullable<Configuration['fetch']>,
    // `web.ts` makes a page of it.
    renderError: (ctx: KoaContextWithOIDC, { error, error_description }) => {
      ctx.type = ERROR_TYPE
      ctx.body = error_description ?? error
    },
  }
  const provider = new library.Provider(baseUrl, configuration)
  provider.on('server_error', (_, error) => deps.log.error({ err: error }, 'the authorization server failed'))
  return provider
}

function cookies(): NonNullable<Configuration['cookies']> {
  const options = { signed: false, httpOnly: true, sameSite: 'lax' as const }
  return {
    names: {
      session: SESSION_COOKIE,
      interaction: 'earshot-oauth-interaction',
      resume: 'earshot-oauth-resume',
    },
    // The ids are random and stored on the server: a signature would add nothing.
    long: options,
    short: options,
  }
}

/** A user who may not act through the grant any more gets no new token from it. */
function accountFinder(records: Identity['oauthRecords']): FindAccount {
  return async (_, userId, token) => {
    const grantId = (token as { readonly grantId?: string } | undefined)?.grantId ?? null
    if (!(await records.isUserOfGrant(userId, grantId))) return undefined
    return { accountId: userId, claims: async () => ({ sub: userId }) }
  }
}
