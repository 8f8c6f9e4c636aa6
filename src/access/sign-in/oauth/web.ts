/**
 * The addresses of the OAuth authorization server: metadata (RFC 8414), authorization, token, registration (RFC 7591),
 * revocation (RFC 7009), and the page on which the user decides.
 */
import { Elysia } from 'elysia'
import type { InteractionResults } from 'oidc-provider'
import { pathOf, queryOf } from '../../../http/address.ts'
import type { BodyBudget } from '../../../http/body-budget.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Identity } from '../../identity/service.ts'
import { pageResponse, redirect } from '../html.ts'
import { signInPath } from '../link.rules.ts'
import { createPageRoutes, type PageRequest } from '../page-request.ts'
import { consentPage } from './consent.ts'
import { audienceOf, authorizationQuery, usedMetadata } from './metadata.rules.ts'
import {
  AUTHORIZE_PATH,
  INTERACTION_PATH,
  JWKS_PATH,
  METADATA_PATH,
  REGISTER_PATH,
  REVOKE_PATH,
  TOKEN_PATH,
} from './provider.ts'
import { createServer, type Server } from './server.ts'

export interface OAuthPagesDeps
  extends Pick<Deps, 'config' | 'redis' | 'clock' | 'log' | 'errors' | 'outbound'> {
  readonly bodies: BodyBudget
  readonly identity: Pick<Identity, 'findUserAnywhere' | 'oauthRecords' | 'personBySession'>
}

const RESUMED = new RegExp(`^${AUTHORIZE_PATH}/([\\w-]+)/?$`)

const HIDDEN = { parse: 'none', detail: { hide: true } } as const
const ANY_ORIGIN = { 'access-control-allow-origin': '*' }
const PREFLIGHT = {
  ...ANY_ORIGIN,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'access-control-max-age': '3600',
}

/**
 * The library's router ignores case and trailing slashes, so an address that this function does not name must not reach it: it
 * would pass by the limits. The library gets the paths as they are named here.
 */
export function oauthPages(deps: OAuthPagesDeps) {
  const app = new Elysia({ name: 'oauth', normalize: false })
  // An issuer outside makes the tokens.
  if (deps.config.oidc !== null) return app
  const page = createPageRoutes(deps)
  const server = createServer(deps)
  const passOn = (url: string) =>
    page(async (pageRequest) => {
      const body = await pageRequest.bytes()
      return server.call(pageRequest, body, { url }).catch(tooManyAttempts)
    })
  for (const path of [METADATA_PATH, `${METADATA_PATH}/*`, '/.well-known/openid-configuration'])
    app.get(
      path,
      page((pageRequest) => metadata(server, pageRequest)),
      HIDDEN,
    )
  app.options(REGISTER_PATH, () => new Response(null, { status: 204, headers: PREFLIGHT }), HIDDEN)
  app.post(
    REGISTER_PATH,
    page((pageRequest) => register(server, pageRequest)),
    HIDDEN,
  )
  app.get(
    `${INTERACTION_PATH}/:uid`,
    page((pageRequest) => showConsent(deps, server, pageRequest)),
    HIDDEN,
  )
  app.post(
    `${INTERACTION_PATH}/:uid`,
    page((pageRequest) => decide(deps, server, pageRequest)),
    HIDDEN,
  )
  app.get(
    AUTHORIZE_PATH,
    page((pageRequest) => authorize(deps, server, pageRequest)),
    HIDDEN,
  )
  app.get(
    `${AUTHORIZE_PATH}/:uid`,
    page((pageRequest) => resume(server, pageRequest)),
    HIDDEN,
  )
  app.get(JWKS_PATH, passOn(JWKS_PATH), HIDDEN)
  for (const path of [TOKEN_PATH, REVOKE_PATH]) app.post(path, passOn(path), HIDDEN)
  for (const path of [TOKEN_PATH, REVOKE_PATH, JWKS_PATH]) app.options(path, passOn(path), HIDDEN)
  return app
}

/** At the root, and behind it with the path of the issuer (RFC 8414, section 3.1). */
function metadata(server: Server, pageRequest: PageRequest): Promise<Response> {
  const path = pathOf(pageRequest.request)
  const isKnown = !path.startsWith(`${METADATA_PATH}/`) || path === `${METADATA_PATH}${pageRequest.prefix}`
  if (!isKnown) throw new AppError('not_found', 'Nothing exists at this address.')
  return server.call(pageRequest, null, { url: METADATA_PATH })
}

async function authorize(
  { identity }: OAuthPagesDeps,
  server: Server,
  pageRequest: PageRequest,
): Promise<Response> {
  await pageRequest.countAttempt()
  const query = authorizationQuery(queryOf(pageRequest.request))
  const visitor = await pageRequest.visitor()
  const [clientId, ...more] = query.getAll('client_id')
  return server.call(pageRequest, null, {
    url: `${AUTHORIZE_PATH}?${query}`,
    isCounted: true,
    // Anybody can register a client, and make links to it that fail: an error leads only to a client that this person has allowed (RFC 9700,
    // section 4.11.2).
    mayLeave:
      visitor !== null &&
      clientId !== undefined &&
      more.length === 0 &&
      (await identity.oauthRecords.hasAllowed(visitor.userId, clientId)),
  })
}

/** Where the library goes on after the decision of the user. */
async function resume(server: Server, pageRequest: PageRequest): Promise<Response> {
  const [, uid] = RESUMED.exec(pathOf(pageRequest.request)) ?? []
  if (uid === undefined) throw new AppError('not_found', 'Nothing exists at this address.')
  return server.call(pageRequest, null, { url: `${AUTHORIZE_PATH}/${uid}` })
}

async function register(server: Server, pageRequest: PageRequest): Promise<Response> {
  const answer = (response: Response) => {
    response.headers.set('access-control-allow-origin', '*')
    return response
  }
  const bytes = await pageRequest.bytes()
  try {
    await pageRequest.countAttempt()
  } catch (error) {
    return tooManyAttempts(error)
  }
  const given = parse(bytes)
  if (given === undefined) return answer(Response.json({ error: 'invalid_client_metadata' }, { status: 400 }))
  const body = new TextEncoder().encode(JSON.stringify(usedMetadata(given)))
  const headers = { 'content-type': 'application/json' }
  return answer(await server.call(pageRequest, body, { url: REGISTER_PATH, headers }))
}

/** Programs expect JSON (RFC 6749, section 5.2). @throws any other error */
function tooManyAttempts(error: unknown): Response {
  if (!(error instanceof AppError && error.code === 'rate_limited')) throw error
  const headers = { ...error.headers, ...ANY_ORIGIN }
  return Response.json({ error: 'temporarily_unavailable' }, { status: 429, headers })
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
  pageRequest: PageRequest,
): Promise<Response> {
  const visitor = await pageRequest.visitor()
  const path = pathOf(pageRequest.request)
  if (visitor === null) return redirect(`${pageRequest.baseUrl}${signInPath(path)}`)
  const { client, params } = await details(server, pageRequest)
  const user = await identity.findUserAnywhere(visitor.userId)
  const page = consentPage({
    email: user?.email ?? '',
    clientName: client.clientName ?? null,
    clientId: client.clientId,
    redirectUri: String(params.redirect_uri),
    scopes: String(params.scope).split(' '),
    csrfToken: visitor.csrfToken,
    action: `${pageRequest.prefix}${path}`,
  })
  return pageResponse(page, pageRequest.prefix)
}

async function details(server: Server, pageRequest: PageRequest) {
  const { params } = await server.interaction(pageRequest)
  const provider = await server.providerOf(pageRequest)
  const client = await server.findClient(pageRequest, String(params.client_id))
  if (client === undefined) throw new AppError('not_found', 'The application is unknown by now.')
  return { provider, client, params }
}

async function decide(
  { identity, log }: OAuthPagesDeps,
  server: Server,
  pageRequest: PageRequest,
): Promise<Response> {
  const { visitor, fields } = await pageRequest.ownForm()
  const { provider, client, params } = await details(server, pageRequest)
  const finish = (result: InteractionResults) => server.finish(pageRequest, provider, result)
  if (fields.get('decision') !== 'allow')
    return finish({ error: 'access_denied', error_description: 'The user denied the request.' })
  const grant = new provider.Grant({ accountId: visitor.userId, clientId: client.clientId })
  grant.addResourceScope(audienceOf(pageRequest.baseUrl), String(params.scope))
  grant.addOIDCScope(String(params.scope))
  const grantId = await grant.save()
  await identity.oauthRecords.keepClient(client.clientId)
  log.info({ userId: visitor.userId, clientId: client.clientId }, 'user allowed an OAuth client')
  return finish({ login: { accountId: visitor.userId, remember: false }, consent: { grantId } })
}
