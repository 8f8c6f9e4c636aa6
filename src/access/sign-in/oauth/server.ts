/** Calls the library of the authorization server for requests to this service. */
import { LRUCache } from 'lru-cache'
import type { InteractionResults, Provider } from 'oidc-provider'
import { pathOf, queryOf } from '../../../http/address.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { AppError } from '../../../platform/errors.ts'
import { createSendOutbound } from '../../../platform/net/outbound-request.ts'
import { pageResponse, redirect } from '../html.ts'
import type { PageRequest } from '../page-request.ts'
import { errorPage } from '../pages.ts'
import { createFetchDocument } from './documents.ts'
import { createFetchLimit } from './fetch-limit.ts'
import { type BridgedRequest, callNode, readNode } from './node-bridge.ts'
import {
  createProvider,
  ERROR_TYPE,
  INTERACTION_PATH,
  type ProviderDeps,
  SESSION_COOKIE,
} from './provider.ts'

type ServerDeps = Pick<Deps, 'config' | 'log' | 'outbound'> & Pick<ProviderDeps, 'identity'>

/** Without `PUBLIC_BASE_URL` the service may have several addresses. Each is an issuer. */
const MAX_ISSUERS = 4

export type Server = ReturnType<typeof createServer>

export function createServer({ config, identity, log, outbound }: ServerDeps) {
  const providers = new LRUCache<string, Promise<Provider>>({ max: MAX_ISSUERS })
  const { mayFetch, run } = createFetchLimit()
  const fetchDocument = createFetchDocument(createSendOutbound({ policy: outbound }))

  async function providerOf(pageRequest: PageRequest): Promise<Provider> {
    const { baseUrl } = pageRequest
    const existing = providers.get(baseUrl)
    if (existing !== undefined) return existing
    // Without `PUBLIC_BASE_URL` a client can name any host, and each costs some milliseconds.
    if (config.publicBaseUrl === null) await pageRequest.countAttempt()
    const created = createProvider({ config, identity, log, fetchDocument, mayFetch }, baseUrl)
    providers.set(baseUrl, created)
    created.catch(() => providers.delete(baseUrl))
    return created
  }

  function bridged({ request, baseUrl, prefix }: PageRequest, options: Overrides): BridgedRequest {
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
    async findClient(pageRequest: PageRequest, clientId: string) {
      const provider = await providerOf(pageRequest)
      return run(pageRequest.countAttempt, () => provider.Client.find(clientId))
    },
    /** @throws AppError 429 if the library needs the document of a client, and the client address has tried too often */
    async call(
      pageRequest: PageRequest,
      body: Uint8Array | null,
      options: Overrides = {},
    ): Promise<Response> {
      const provider = await providerOf(pageRequest)
      const count = options.isCounted ? async () => {} : pageRequest.countAttempt
      const response = await run(count, () =>
        callNode(provider.callback(), bridged(pageRequest, { ...options, body })),
      )
      dropSessionCookie(response.headers)
      if (response.status >= 400 && response.headers.get('content-type')?.startsWith(ERROR_TYPE))
        return pageResponse(
          errorPage(response.status, await response.text(), pageRequest),
          pageRequest.prefix,
        )
      const isKept = options.mayLeave !== false || leadsToInteraction(response, pageRequest)
      return isKept
        ? response
        : pageResponse(errorPage(400, notAccepted(response), pageRequest), pageRequest.prefix)
    },
    /** Ends the interaction and sends the browser back to the authorization endpoint. */
    async finish(
      pageRequest: PageRequest,
      provider: Provider,
      result: InteractionResults,
    ): Promise<Response> {
      const options = { mergeWithLastSubmission: false }
      const next = await readNode(
        (request, response) => provider.interactionResult(request, response, result, options),
        bridged(pageRequest, {}),
      )
      return redirect(next)
    },
    async interaction(pageRequest: PageRequest) {
      const provider = await providerOf(pageRequest)
      try {
        return await readNode(
          (request, response) => provider.interactionDetails(request, response),
          bridged(pageRequest, {}),
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
  /** The request has been counted as an attempt. */
  readonly isCounted?: boolean
  /** Whether the browser may go on to the client. If not, an error for the client is shown as a page. Default: true. */
  readonly mayLeave?: boolean
}

const leadsToInteraction = ({ headers }: Response, { baseUrl }: PageRequest) =>
  headers.get('location')?.startsWith(`${baseUrl}${INTERACTION_PATH}/`) ?? false

/** Registered addresses have no fragment, and the library sets the parameter `error`. Other parameters may be the client's. */
function notAccepted({ headers }: Response): string {
  const url = URL.parse(headers.get('location') ?? '')
  const error = new URLSearchParams(url?.hash.slice(1)).get('error') ?? url?.searchParams.get('error') ?? null
  return `The request of the application is not accepted${error === null ? '' : ` (${error})`}. Start again in the application.`
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
