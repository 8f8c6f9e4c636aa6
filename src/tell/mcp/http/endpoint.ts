/**
 * `/mcp`: the tools of coding agents over Streamable HTTP.
 *
 * Every request passes in this order: `Host` and `Origin` (403) → method (405) → token (401) → rate limit (429) → open calls (429,
 * 503) → body (400, 408, 413, 415) → scope (403) → the protocol.
 */
import { type Context, Elysia } from 'elysia'
import { baseUrlOf } from '../../../http/base-url.ts'
import type { BodyBudget } from '../../../http/body-budget.ts'
import { createCounter, createFailureLimit } from '../../../http/rate-limit.ts'
import { REQUEST_ID_HEADER } from '../../../http/request-id.ts'
import type { Deps } from '../../../kernel/deps.ts'
import type { Authentication, UserPrincipal } from '../../../kernel/principal.ts'
import { asCaller } from '../../../platform/concurrency/caller.ts'
import { createFairQueue, type FairQueue } from '../../../platform/concurrency/fair-queue.ts'
import { AppError } from '../../../platform/errors.ts'
import { textResponse } from '../../../platform/net/compression.ts'
import { methodNotAllowed } from '../../../platform/net/methods.ts'
import { MAX_OPEN_CALLS } from '../limits.ts'
import type { Tools } from '../service.ts'
import type { Serving } from '../serving.ts'
import { afterBody } from './after-body.ts'
import { assertScope, createAuthorize } from './authorize.ts'
import { readBody } from './body.ts'
import { MCP_PATH } from './metadata.ts'
import { createOpenCalls, type OpenCall } from './open-calls.ts'
import { isAllowedHost, isAllowedOrigin } from './origin.rules.ts'
import { rpcError } from './rpc-error.ts'

type Arrived = Pick<Context, 'request' | 'set' | 'server'>
type EndpointDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'errors' | 'log' | 'requestWork'> & {
  readonly identity: Authentication
  readonly tools: Tools
  readonly bodies: BodyBudget
}

const METHODS = ['POST', 'DELETE']
const OPEN_CALLS = { perUser: 16, calls: MAX_OPEN_CALLS, questions: 4_096 } as const
/**
 * Calls that run at a time, of one organization at most the share. A call takes about a millisecond of the HTTP thread, which many at once
 * would keep from everybody else.
 */
const RUNNING = { places: 4, share: 2, maxWaitMs: 30_000 } as const
/** Calls that may wait for a model server have places of their own, because they wait longer than they work. */
const SLOW = { places: 32, share: 'asMuchAsItLeaves', maxWaitMs: 30_000 } as const
/** Headers of the SDK that pass. Everything else is decided here. */
const PASSED = ['content-type', 'mcp-session-id', 'allow', 'x-accel-buffering']

export function toolEndpoint(deps: EndpointDeps) {
  const authorize = createAuthorize({ ...deps, countFailure: createFailureLimit(deps) })
  const count = createCounter(deps, 'tools', deps.config.rateLimits.tools)
  const openCall = createOpenCalls(OPEN_CALLS)
  const queues = { running: createFairQueue(RUNNING), slow: createFairQueue(SLOW) }
  const serve = async ({ request, set, server }: Arrived): Promise<Response> => {
    assertAddress(request, deps.config)
    if (!METHODS.includes(request.method)) throw methodNotAllowed(request.method, METHODS.join(', '))
    const principal = await authorize(request, server?.requestIP(request)?.address ?? null)
    const user = `${principal.organizationId}:${principal.userId}`
    Object.assign(set.headers, await count(user))
    const open = openCall(principal)
    const requestId = String(set.headers[REQUEST_ID_HEADER])
    return respond(request, { request, principal, open, requestId }, { ...deps, queues })
  }
  const answer = (arrived: Arrived) =>
    serve(arrived).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error
      return rpcError(error, deps.errors, String(arrived.set.headers[REQUEST_ID_HEADER]))
    })
  return new Elysia({ name: 'tools', normalize: false }).all(MCP_PATH, answer, {
    parse: 'none',
    detail: { hide: true },
  })
}

interface Call {
  readonly request: Request
  readonly principal: UserPrincipal
  readonly requestId: string
  readonly open: OpenCall
}

/** The body counts against the budget until the answer has been sent, because a call that waits for a user keeps it. */
function respond(
  request: Request,
  call: Call,
  deps: EndpointDeps & { readonly queues: Readonly<Record<'running' | 'slow', FairQueue>> },
): Promise<Response> {
  const begun = Promise.withResolvers<Response>()
  const caller = call.principal.organizationId
  deps.bodies
    .lease(caller, async (lease) => {
      const work = { caller, work: deps.requestWork }
      const body = request.method === 'POST' ? await readBody(request, lease, work) : undefined
      const serving = await deps.tools.serving()
      const queue = serving.isSlow(body) ? deps.queues.slow : deps.queues.running
      const response = await queue.run(caller, () => asCaller(caller, () => run(call, body, serving, deps)))
      const sent = Promise.withResolvers<void>()
      begun.resolve(await shown(request, response, sent.resolve))
      await sent.promise
    })
    .catch(begun.reject)
    .finally(call.open.close)
  return begun.promise
}

async function run(
  { open, ...call }: Call,
  body: unknown,
  serving: Serving,
  { config }: EndpointDeps,
): Promise<Response> {
  assertScope(call.request, config, call.principal, serving.changes(body))
  return serving.serve({ ...call, body, asks: open.asks })
}

/** A stream as it comes; JSON compressed as the client asks. */
async function shown(request: Request, response: Response, done: () => void): Promise<Response> {
  const headers = Object.fromEntries([...response.headers].filter(([name]) => PASSED.includes(name)))
  if (headers['content-type']?.startsWith('text/event-stream')) {
    const stream = new Response(response.body, { status: response.status, headers })
    return afterBody(stream, done)
  }
  const text = await response.text()
  done()
  if (text === '') return new Response(null, { status: response.status, headers })
  return textResponse(request, text, { status: response.status, headers })
}

/** @throws AppError 403 */
function assertAddress(request: Request, config: Deps['config']): void {
  if (!isAllowedHost(request.headers.get('host'), config.publicBaseUrl))
    throw new AppError(
      'origin_not_allowed',
      'The Host header names another service: set PUBLIC_BASE_URL to its address.',
    )
  if (!isAllowedOrigin(request.headers.get('origin'), baseUrlOf(request, config)))
    throw new AppError('origin_not_allowed', 'Pages of other websites may not call the tools.')
}
