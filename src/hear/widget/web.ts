/**
 * `/widget/earshot.js`, and what this script sends: `POST /widget/feedback` and `POST /widget/forms/{form}`.
 *
 * A request passes in this order: limit of the client address (429) → key (401) → origin (403) → limit of the key (429) → limit of forms (429)
 * → body (415, 400).
 * Browsers do not let pages forge `Origin`, so a page elsewhere cannot use the key. Answers say nothing about what is stored, so
 * every page may read them.
 */
import { type Context, Elysia } from 'elysia'
import type { BodyBudget } from '../../http/body-budget.ts'
import { clientIp, countingKey, trustedProxies } from '../../http/client-ip.ts'
import { representation } from '../../http/openapi/representation.ts'
import { createCounter, type Meter } from '../../http/rate-limit.ts'
import { readBytes } from '../../http/read-body.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Authentication, PagePrincipal } from '../../kernel/principal.ts'
import { asCaller } from '../../platform/concurrency/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { methodNotAllowed, readOnly } from '../../platform/net/methods.ts'
import { parseJson } from '../../platform/validation/json.ts'
import source from './earshot.browser.js' with { type: 'text' }
import { isAllowedOrigin } from './rules.ts'
import type { Widget } from './service.ts'

const SCRIPT_PATH = '/widget/earshot.js'
const KEY = 'x-service-publishable-key'
/** Larger than every form with all fields at their limits needs. */
const MAX_BYTES = 128 * 1024
const PREFLIGHT_SECONDS = 86_400
/** Pages take a new version within the hour; a browser that has an older one shows it at once and asks in the background. */
const SCRIPT_CACHE = 'public, max-age=3600, stale-while-revalidate=86400'

const ANY_PAGE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
  'cache-control': 'no-store',
} as const
const PREFLIGHT = {
  ...ANY_PAGE,
  'access-control-allow-methods': 'POST',
  'access-control-allow-headers': 'Content-Type, X-Service-Publishable-Key',
  'access-control-max-age': String(PREFLIGHT_SECONDS),
} as const

type WidgetWebDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'log'> & {
  readonly bodies: BodyBudget
  readonly identity: Pick<Authentication, 'byPublishableKey'>
  readonly widget: Widget
  /** Counts the forms of a client address, together with those of the website API. */
  readonly forms: Pick<Meter, 'count'>
}
type Arrived = Pick<Context, 'request' | 'server' | 'set'>
const HIDDEN = { parse: 'none', detail: { hide: true } } as const

export function widgetPages(deps: WidgetWebDeps) {
  const { widget } = deps
  const admit = createAdmission(deps)
  const script = representation(new TextEncoder().encode(source), {
    'content-type': 'text/javascript; charset=utf-8',
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  })
  const receive = async (
    arrived: Arrived,
    use: (page: PagePrincipal, body: unknown) => Promise<void>,
    count?: Meter['count'],
  ) => {
    Object.assign(arrived.set.headers, ANY_PAGE)
    const page = await admit(arrived)
    Object.assign(arrived.set.headers, await count?.(admit.clientOf(arrived)))
    await deps.bodies.lease(page.organizationId, async (lease) => {
      assertJson(arrived.request)
      const body = parseJson(await readBytes(arrived.request, MAX_BYTES, lease))
      await asCaller(page.organizationId, () => use(page, body))
    })
    return Response.json({ accepted: true }, { status: 202, headers: ANY_PAGE })
  }
  const refuse = ({ request }: { request: Request }) => {
    if (request.method === 'OPTIONS' && request.headers.has('access-control-request-method'))
      return new Response(null, { status: 204, headers: PREFLIGHT })
    throw methodNotAllowed(request.method, 'POST')
  }
  return new Elysia({ name: 'widget', normalize: false })
    .get(
      SCRIPT_PATH,
      async ({ request }) => {
        const response = await script.respond(request)
        response.headers.set('cache-control', SCRIPT_CACHE)
        return response
      },
      HIDDEN,
    )
    .all(SCRIPT_PATH, readOnly, HIDDEN)
    .post('/widget/feedback', (arrived) => receive(arrived, widget.feedback), HIDDEN)
    .all('/widget/feedback', refuse, HIDDEN)
    .post(
      '/widget/forms/:form',
      (arrived) => receive(arrived, (_, body) => widget.form(arrived.params.form, body), deps.forms.count),
      HIDDEN,
    )
    .all('/widget/forms/:form', refuse, HIDDEN)
}

/** Who sends. @throws AppError 401, 403, 429 */
function createAdmission({ identity, ...deps }: WidgetWebDeps) {
  const { widgetAddress, widgetKey } = deps.config.rateLimits
  const countAddress = createCounter(deps, 'widget-address', widgetAddress)
  const countKey = createCounter(deps, 'widget-key', widgetKey)
  const isTrusted = trustedProxies(deps.config.trustedProxies)
  const clientOf = ({ request, server }: Arrived): string => {
    const address = clientIp(server?.requestIP(request)?.address ?? null, request.headers, isTrusted)
    return address === null ? 'ip:unknown' : `ip:${countingKey(address)}`
  }
  const admit = async (arrived: Arrived): Promise<PagePrincipal> => {
    const { request, set } = arrived
    Object.assign(set.headers, await countAddress(clientOf(arrived)))
    const page = await identity.byPublishableKey(request.headers.get(KEY) ?? '')
    if (page === null)
      throw new AppError(
        'invalid_publishable_key',
        'The publishable key is missing, unknown or revoked: send it in X-Service-Publishable-Key.',
        { headers: { 'www-authenticate': 'ApiKey realm="earshot", header="X-Service-Publishable-Key"' } },
      )
    if (!isAllowedOrigin(page.origins, request.headers.get('origin')))
      throw new AppError('page_not_allowed', 'The publishable key is not for pages of this origin.')
    await countKey(page.keyId)
    return page
  }
  return Object.assign(admit, { clientOf })
}

function assertJson(request: Request): void {
  if (/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? '')) return
  throw new AppError(
    'unsupported_media_type',
    'The request body must be sent as Content-Type: application/json.',
  )
}
