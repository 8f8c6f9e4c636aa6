/**
 * The addresses of the OAuth authorization server: metadata (RFC 8414), authorization, token, registration (RFC 7591),
 * revocation (RFC 7009), and the page on which the user decides.
 */
import { Elysia } from 'elysia'
import { LRUCache } from 'lru-cache'
import type { InteractionResults, Provider } from 'oidc-provider'
import type { Deps } from '../../container.ts'
import { pathOf, queryOf } from '../../http/address.ts'
import type { BodyBudget } from '../../http/body-budget.ts'
import type { Identity } from '../../identity/service.ts'
import { AppError } from '../../platform/errors.ts'
import { createSendOutbound } from '../../platform/net/outbound-request.ts'
import { createExchanges, type Exchange } from '../exchange.ts'
import { pageResponse, redirect } from '../html.ts'
import { signInPath } from '../link.rules.ts'
import { errorPage } from '../pages.ts'
import { consentPage } from './consent.ts'
import { createFetchDocument } from './documents.ts'
import { audienceOf, authorizationQuery, usedMetadata } from './metadata.rules.ts'
import { type BridgedRequest, callNode, readNode } from './node-bridge.ts'
import {
  AUTHORIZE_PATH,
  createProvider,
  ERROR_TYPE,
  INTERACTION_PATH,
  METADATA_PATH,
  OAUTH_PATH,
  REGISTER_PATH,
  SESSION_COOKIE,
} from './provider.ts'

export interface OAuthPagesDeps
  extends Pick<Deps, 'config' | 'redis' | 'clock' | 'log' | 'errors' | 'outbound'> {
  readonly bodies: BodyBudget
  readonly identity: Pick<Identity, 'bySession' | 'findUserAnywhere' | 'oauthRecords'>
}

/** Without `PUBLIC_BASE_URL` the service may have several addresses. Each is an issuer. */
const MAX_ISSUERS = 4
/** Clients that register in an hour, all together. */
const MAX_NEW_CLIENTS = 1_000

const HIDDEN = { parse: 'none', detail: { hide: true } } as const
const ANY_ORIGIN = { 'access-control-allow-origin': '*' }
const PREFLIGHT = {
  ...ANY_ORIGIN,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'access-control-max-age': '3600',
}

export function oauthPages(deps: OAuthPagesDeps) {
  const app = new Elysia({ name: 'oauth', normalize: false })
  // An issuer outside makes the tokens.
  if (deps.config.oidc !== null) return app
  const page = createExchanges(deps)
  const server = createServer(deps)
  for (const path of [METADATA_PATH, `${METADATA_PATH}/*`, '/.well-known/openid-configuration'])
    app.get(
      path,
      page((exchange) => metadata(server, exchange)),
      HIDDEN,
    )
  app.options(REGISTER_PATH, () => new Response(null, { status: 204, headers: PREFLIGHT }), HIDDEN)
  app.post(
    REGISTER_PATH,
    page((exchange) => register(deps, server, exchange)),
    HIDDEN,
  )
  app.get(
    `${INTERACTION_PATH}/:uid`,
    page((exchange) => showConsent(deps, server, exchange)),
    HIDDEN,
  )
  app.post(
    `${INTERACTION_PATH}/:uid`,
    page((exchange) => decide(deps, server, exchange)),
    HIDDEN,
  )
  app.get(
    AUTHORIZE_PATH,
    page((exchange) => authorize(server, exchange)),
    HIDDEN,
  )
  app.all(
    `${OAUTH_PATH}/*`,
    page(async (exchange) => server.call(exchange, await exchange.bytes())),
    HIDDEN,
  )
  return app
}

type Server = ReturnType<typeof createServer>

/** Calls the library for requests to this service. */
function createServer({ config, identity, log, outbound }: OAuthPagesDeps) {
  const providers = new LRUCache<string, Promise<Provider>>({ max: MAX_ISSUERS })
  const fetchDocument = createFetchDocument(createSendOutbound({ policy: outbound }))

  async function providerOf(exchange: Exchange): Promise<Provider> {
    const { baseUrl } = exchange
    const existing = providers.get(baseUrl)
    if (existing !== undefined) return existing
    // Without `PUBLIC_BASE_URL` a client can name any host, and each costs some milliseconds.
    if (config.publicBaseUrl === null) await exchange.countAttempt()
    const created = createProvider({ config, identity, log, fetchDocument }, baseUrl)
    providers.set(baseUrl, created)
    created.catch(() => providers.delete(baseUrl))
    return created
  }

  function bridged({ request, baseUrl, prefix }: Exchange, options: Overrides): BridgedRequest {
    const url = options.url ?? `${pathOf(request)}${suffix(queryOf(request))}`
    const base = new URL(baseUrl)
    // The library derives addresses of cookies and links from these.
    const cookie = libraryCookies(request.headers.get('cookie'))
    const headers = { ...Object.fromEntries(request.headers), host: base.host, cookie, ...options.headers }
    const isSecure = base.protocol === 'https:'
    const body = options.body ?? null
    return {
      method: options.method ?? request.method,
      url,
      originalUrl: prefix + url,
      headers,
      body,
      isSecure,
    }
  }

  return {
    providerOf,
    async call(exchange: Exchange, body: Uint8Array | null, options: Overrides = {}): Promise<Response> {
      const provider = await providerOf(exchange)
      const response = await callNode(provider.callback(), bridged(exchange, { ...options, body }))
      dropSessionCookie(response.headers)
      if (response.status < 400 || !response.headers.get('content-type')?.startsWith(ERROR_TYPE))
        return response
      return pageResponse(errorPage(response.status, await response.text(), exchange), exchange.prefix)
    },
    /** Ends the interaction and sends the browser back to the authorization endpoint. */
    async finish(exchange: Exchange, provider: Provider, result: InteractionResults): Promise<Response> {
      const options = { mergeWithLastSubmission: false }
      const next = await readNode(
        (request, response) => provider.interactionResult(request, response, result, options),
        bridged(exchange, {}),
      )
      return redirect(next)
    },
    async interaction(exchange: Exchange) {
      const provider = await providerOf(exchange)
      try {
        return await readNode(
          (request, response) => provider.interactionDetails(request, response),
          bridged(exchange, {}),
        )
      } catch (error) {
        if (!(error instanceof Error && error.name === 'SessionNotFound')) throw error
        throw new AppError('not_found', 'This request has ended. Start again in the application.')
      }
    },
  }
}

interface Overrides {
  readonly method?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | null
}

/**
 * The cookies that the library gets: those of one authorization, neither the session of this service nor the library's own. So a
 * user who signs in later is never taken for an earlier one.
 */
function libraryCookies(header: string | null): string {
  const cookies = (header ?? '').split(/; ?/)
  return cookies.filter((cookie) => /^earshot-oauth-(?!session)/.test(cookie)).join('; ')
}

function dropSessionCookie(headers: Headers): void {
  const cookies = headers.getSetCookie()
  headers.delete('set-cookie')
  for (const cookie of cookies)
    if (!cookie.startsWith(`${SESSION_COOKIE}=`)) headers.append('set-cookie', cookie)
}

const suffix = (query: URLSearchParams) => (query.size === 0 ? '' : `?${query}`)

/** At the root, and behind it with the path of the issuer (RFC 8414, section 3.1). */
function metadata(server: Server, exchange: Exchange): Promise<Response> {
  const path = pathOf(exchange.request)
  const isKnown = !path.startsWith(`${METADATA_PATH}/`) || path === `${METADATA_PATH}${exchange.prefix}`
  if (!isKnown) throw new AppError('not_found', 'Nothing exists at this address.')
  return server.call(exchange, null, { url: METADATA_PATH })
}

async function authorize(server: Server, exchange: Exchange): Promise<Response> {
  await exchange.countAttempt()
  const query = authorizationQuery(queryOf(exchange.request))
  return server.call(exchange, null, { url: `${AUTHORIZE_PATH}?${query}` })
}

async function register({ identity }: OAuthPagesDeps, server: Server, exchange: Exchange): Promise<Response> {
  const answer = (response: Response) => {
    response.headers.set('access-control-allow-origin', '*')
    return response
  }
  const bytes = await exchange.bytes()
  try {
    await exchange.countAttempt()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return answer(
      Response.json({ error: 'temporarily_unavailable' }, { status: 429, headers: error.headers }),
    )
  }
  if ((await identity.oauthRecords.countNewClients()) >= MAX_NEW_CLIENTS)
    return answer(Response.json({ error: 'temporarily_unavailable' }, { status: 503 }))
  const given = parse(bytes)
  if (given === undefined) return answer(Response.json({ error: 'invalid_client_metadata' }, { status: 400 }))
  const body = new TextEncoder().encode(JSON.stringify(usedMetadata(given)))
  return answer(await server.call(exchange, body, { headers: { 'content-type': 'application/json' } }))
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

async function showConsent(
  { identity }: OAuthPagesDeps,
  server: Server,
  exchange: Exchange,
): Promise<Response> {
  const visitor = await exchange.visitor()
  const path = pathOf(exchange.request)
  if (visitor === null) return redirect(`${exchange.baseUrl}${signInPath(path)}`)
  const { client, params } = await details(server, exchange)
  const user = await identity.findUserAnywhere(visitor.userId)
  const page = consentPage({
    email: user?.email ?? '',
    clientName: client.clientName ?? null,
    clientId: client.clientId,
    redirectUri: String(params.redirect_uri),
    scopes: String(params.scope).split(' '),
    csrfToken: visitor.csrfToken,
    action: `${exchange.prefix}${path}`,
  })
  return pageResponse(page, exchange.prefix)
}

async function details(server: Server, exchange: Exchange) {
  const { params } = await server.interaction(exchange)
  const provider = await server.providerOf(exchange)
  const client = await provider.Client.find(String(params.client_id))
  if (client === undefined) throw new AppError('not_found', 'The application is unknown by now.')
  return { provider, client, params }
}

async function decide(
  { identity, log }: OAuthPagesDeps,
  server: Server,
  exchange: Exchange,
): Promise<Response> {
  const { visitor, fields } = await exchange.ownForm()
  const { provider, client, params } = await details(server, exchange)
  const finish = (result: InteractionResults) => server.finish(exchange, provider, result)
  if (fields.get('decision') !== 'allow')
    return finish({ error: 'access_denied', error_description: 'The user denied the request.' })
  const grant = new provider.Grant({ accountId: visitor.userId, clientId: client.clientId })
  grant.addResourceScope(audienceOf(exchange.baseUrl), String(params.scope))
  grant.addOIDCScope(String(params.scope))
  const grantId = await grant.save()
  await identity.oauthRecords.keepClient(client.clientId)
  log.info({ userId: visitor.userId, clientId: client.clientId }, 'user allowed an OAuth client')
  return finish({ login: { accountId: visitor.userId, remember: false }, consent: { grantId } })
}
