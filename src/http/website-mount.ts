/**
 * Turns website operations into Elysia routes.
 *
 * Every request passes in this order: 405 → limit (429) → API version (400) → handler, which looks up (404), reads the
 * body (415, 400) and acts. Every response under `/api` states the version and the client's limits, whatever its
 * status. A request that reaches no operation does not count as a submission.
 */
import { type Context, type DocumentDecoration, Elysia } from 'elysia'
import type { Deps } from '../kernel/deps.ts'
import { asCaller } from '../platform/concurrency/caller.ts'
import type { RequestWork } from '../platform/concurrency/work.ts'
import { AppError } from '../platform/errors.ts'
import { methodNotAllowed } from '../platform/net/methods.ts'
import { API_VERSIONS, type ApiVersion, type ChosenVersion, createChooseVersion } from './api-version.ts'
import type { BodyBudget } from './body-budget.ts'
import { allowHeader, createCall, routePath, toResponse } from './call.ts'
import { clientIp, countingKey, trustedProxies } from './client-ip.ts'
import { createCors } from './cors.ts'
import type { Method } from './operation.ts'
import { operationDetail } from './operation-detail.ts'
import { createMeter, type Meter, WINDOW_SECONDS } from './rate-limit.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'
import { asOperation, type WebsiteLimit, type WebsiteOperation } from './website-operation.ts'

/** Changed by tests only. */
export interface WebsiteOptions {
  readonly versions?: readonly ApiVersion[]
  readonly windowSeconds?: number
}

type MountDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'errors' | 'log'> & {
  readonly bodies: BodyBudget
  readonly work: RequestWork
  /** Counts forms, also those that the widget sends. */
  readonly forms: Meter
}
type Arrived = Pick<Context, 'request' | 'set' | 'server'>

/** One path with the methods of its operations and the limit that its errors state. */
interface PathMethods {
  readonly methods: Set<Method>
  readonly limit: WebsiteLimit
}

/** One Elysia instance with a route per operation, 405 for other methods, and 404 for the rest of `/api`. */
export function mountWebsite(
  operations: readonly WebsiteOperation[],
  deps: MountDeps,
  options: WebsiteOptions = {},
) {
  const app = new Elysia({ name: 'website', normalize: false })
  const gate = createGate(deps, options)
  const places = new Map<string, PathMethods>()
  for (const declared of operations) {
    const operation = asOperation(declared)
    const path = routePath(operation.path)
    const place = places.get(path) ?? { methods: new Set(), limit: declared.limit }
    place.methods.add(operation.method)
    places.set(path, place)
    app.route(
      operation.method,
      path,
      async (context) => {
        const version = await gate.enter(context, declared.limit)
        version.assertSupported()
        const { request, params, set } = context
        const requestId = String(set.headers[REQUEST_ID_HEADER])
        const caller = gate.caller(context)
        return deps.bodies.lease(caller, async (lease) => {
          const reading = { lease, caller, work: deps.work }
          const call = createCall(operation, request, params, null, requestId, reading)
          return toResponse(await asCaller('website', async () => operation.handler(call)), request, set)
        })
      },
      { parse: 'none', detail: operationDetail(operation, deps.errors, 'problem') },
    )
  }
  for (const [path, { methods, limit }] of places)
    app.all(path, (context) => gate.refuseMethod(context, limit, allowHeader(methods)), HIDDEN)
  for (const path of ['/api', '/api/*'].filter((one) => !places.has(one))) {
    app.all(
      path,
      async (context) => {
        await gate.enter(context, 'reads')
        throw new AppError('not_found', 'Nothing exists at this address.')
      },
      HIDDEN,
    )
  }
  return app
}

const HIDDEN = { parse: 'none', detail: { hide: true } as DocumentDecoration } as const

/** Checks every request under `/api`. */
function createGate(deps: MountDeps, options: WebsiteOptions) {
  const meters = createMeters(deps, options.windowSeconds ?? WINDOW_SECONDS)
  const chooseVersion = createChooseVersion(options.versions ?? API_VERSIONS, deps.clock)
  const cors = createCors(deps.config.websiteOrigins)
  const keyOf = createKey(deps)
  const choose = ({ request, set }: Arrived) => {
    const version = chooseVersion(request.headers.get('api-version'))
    Object.assign(set.headers, version.headers, cors.headers(request))
    return version
  }
  return {
    caller: keyOf,
    /** Counts the request. @throws AppError 429 */
    async enter(context: Arrived, limit: WebsiteLimit): Promise<ChosenVersion> {
      const version = choose(context)
      Object.assign(context.set.headers, await meters[limit].count(keyOf(context)))
      return version
    },
    /** @returns the answer to a preflight. @throws AppError 405 */
    async refuseMethod(context: Arrived, limit: WebsiteLimit, allow: string): Promise<Response> {
      choose(context)
      const { request, set } = context
      Object.assign(set.headers, await meters[limit].peek(keyOf(context)))
      const headers = cors.preflight(request, allow)
      if (headers !== null) return new Response(null, { status: 204, headers })
      throw methodNotAllowed(request.method, allow)
    },
  }
}

function createMeters(deps: MountDeps, windowSeconds: number): Record<WebsiteLimit, Meter> {
  const { websiteReads, assistant } = deps.config.rateLimits
  return {
    reads: createMeter(deps, 'reads', websiteReads, windowSeconds),
    assistant: createMeter(deps, 'assistant', assistant, windowSeconds),
    forms: deps.forms,
  }
}

/** Clients are identified by address. Clients without one (on a Unix socket) count as one client. */
function createKey({ config }: MountDeps): (context: Arrived) => string {
  const isTrusted = trustedProxies(config.trustedProxies)
  return ({ request, server }) => {
    const address = clientIp(server?.requestIP(request)?.address ?? null, request.headers, isTrusted)
    return address === null ? 'ip:unknown' : `ip:${countingKey(address)}`
  }
}
