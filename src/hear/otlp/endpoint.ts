/**
 * `POST /v1/traces`: OTLP/HTTP (opentelemetry-proto, docs/specification.md), in the binary and in the JSON encoding.
 *
 * Every request passes in this order: method (405) → content type (415) → agent secret (401) → rate limit (429) → application (404) →
 * body (400, 408, 413, 415, 503). Errors are `google.rpc.Status` in the encoding of the request. Clients send again after 429 and 503,
 * and drop the spans after any other error.
 */
import { type Context, Elysia } from 'elysia'
import { createAuthenticate } from '../../http/auth.ts'
import type { BodyBudget } from '../../http/body-budget.ts'
import { ClientGone } from '../../http/client-gone.ts'
import { toAppError } from '../../http/error-handler.ts'
import { createCounter, createFailureLimit } from '../../http/rate-limit.ts'
import { readParts } from '../../http/read-body.ts'
import { REQUEST_ID_HEADER } from '../../http/request-id.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Authentication } from '../../kernel/principal.ts'
import { asCaller } from '../../platform/concurrency/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { methodNotAllowed } from '../../platform/net/methods.ts'
import { failure, success } from './answer.ts'
import type { Encoding } from './decode.ts'
import { MAX_REQUEST_BYTES } from './model.ts'
import type { AgentPrincipal, Traces } from './service.ts'

const TRACES_PATH = '/v1/traces'

type EndpointDeps = Pick<Deps, 'config' | 'redis' | 'clock' | 'errors' | 'log'> & {
  readonly identity: Authentication
  readonly traces: Traces
  readonly bodies: BodyBudget
}
type Arrived = Pick<Context, 'request' | 'set' | 'server'>

export function traceEndpoint(deps: EndpointDeps) {
  const authenticate = createAuthenticate({ ...deps, countFailure: createFailureLimit(deps) })
  const count = createCounter(deps, 'agent-ingest', deps.config.rateLimits.agentIngest)

  async function receive({ request, set, server }: Arrived): Promise<Response> {
    if (request.method !== 'POST') throw methodNotAllowed(request.method, 'POST')
    const encoding = encodingOf(request)
    if (encoding === null)
      throw new AppError(
        'unsupported_media_type',
        'Send spans as application/x-protobuf or application/json (OTLP/HTTP).',
      )
    const peer = () => server?.requestIP(request)?.address ?? null
    const principal = (await authenticate(request, { access: 'agent' }, peer)) as AgentPrincipal
    Object.assign(set.headers, await count(principal.applicationId))
    return deps.bodies.lease(principal.organizationId, async (lease) => {
      const readBody = async () => ({ encoding, parts: await readParts(request, MAX_REQUEST_BYTES, lease) })
      const received = () => deps.traces.receive(principal, readBody)
      return success(encoding, await asCaller(principal.organizationId, received))
    })
  }

  const answer = (arrived: Arrived): Promise<Response> =>
    receive(arrived).catch((error: unknown) => {
      const { request, set } = arrived
      if (error instanceof ClientGone) throw error
      const requestId = String(set.headers[REQUEST_ID_HEADER])
      const context = { path: TRACES_PATH, requestId, now: deps.clock.now() }
      return failure(
        encodingOf(request) ?? 'json',
        toAppError(error, context, deps.log, deps.errors),
        deps.errors,
      )
    })
  return new Elysia({ name: 'traces', normalize: false }).all(TRACES_PATH, answer, {
    parse: 'none',
    detail: { hide: true },
  })
}

const ENCODINGS: Readonly<Record<string, Encoding>> = {
  'application/x-protobuf': 'protobuf',
  'application/protobuf': 'protobuf',
  'application/json': 'json',
}

/** null for another content type. */
function encodingOf({ headers }: Request): Encoding | null {
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  return Object.hasOwn(ENCODINGS, type) ? (ENCODINGS[type] as Encoding) : null
}
