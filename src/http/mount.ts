/**
 * Turns operations into Elysia routes.
 *
 * Every request passes in this order: request id → route → 405 → authentication (401, 403) → rate limit (429) → role (403) → parameters of an operation that has none (400) → handler, which looks up
 * (404), reads the body (415, 400) and acts (409). `parse: 'none'` leaves the body unread until the handler asks, so a
 * refused request costs no parsing.
 */
import { Elysia } from 'elysia'
import type { Read } from '../kernel/audit-actions.ts'
import type { UserPrincipal } from '../kernel/principal.ts'
import { asCaller } from '../platform/concurrency/caller.ts'
import type { RequestWork } from '../platform/concurrency/work.ts'
import type { ErrorCatalogue } from '../platform/errors.ts'
import type { NewId } from '../platform/ids.ts'
import { methodNotAllowed } from '../platform/net/methods.ts'
import type { Caller } from './auth.ts'
import type { BodyBudget } from './body-budget.ts'
import { allowHeader, createCall, readQuery, routePath, toResponse } from './call.ts'
import type { Method, Operation } from './operation.ts'
import { operationDetail } from './operation-detail.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'
import { isForPages, pageHeaders, preflightHeaders } from './rest-cors.ts'
import { assertRole } from './roles.ts'

export interface MountDeps {
  readonly newId: NewId
  readonly errors: ErrorCatalogue
  readonly bodies: BodyBudget
  readonly work: RequestWork
  /** `peer` returns the address of the connection's other end; null if unknown. @throws AppError 401 or 403 */
  readonly authenticate: (
    request: Request,
    operation: Operation,
    peer: () => string | null,
  ) => Promise<Caller | null>
  /** Adds a successful read of personal content to the audit log. */
  readonly recordRead: (by: UserPrincipal, action: Read, objectId: string | null) => void
  /** Counts the request against its limits and returns the headers to send. @throws AppError 429 */
  readonly limit: (
    operation: Operation,
    principal: Caller | null,
    request: Request,
  ) => Promise<Record<string, string>>
}

/** One path: its methods, and those that pages of other websites may use. */
interface PathMethods {
  readonly methods: Set<Method>
  readonly forPages: Set<Method>
}

/** Only users are recorded: keys belong to programs. */
const reader =
  (record: MountDeps['recordRead']) =>
  ({ reads }: Operation, principal: Caller | null, params: Readonly<Record<string, string>>): void => {
    if (reads === undefined || principal?.kind !== 'user') return
    record(principal, reads.action, reads.object === undefined ? null : (params[reads.object] ?? null))
  }

/**
 * What a change locks: the object that its path names first. A use case that locks something else says so (`lockingFirst`). Reads lock
 * nothing.
 */
function lockOf({ method, path }: Operation): (caller: string, params: Params) => string | undefined {
  const name = method === 'GET' ? undefined : /\{(\w+)\}/.exec(path)?.[1]
  return (caller, params) => (name === undefined ? undefined : `${caller} ${params[name]}`)
}

type Params = Readonly<Record<string, string>>

/** Who shares memory and threads. */
const callerOf = (principal: Caller | null): string =>
  principal === null ? 'public' : principal.kind === 'person' ? principal.userId : principal.organizationId

/** One Elysia instance with a route per operation, and 405 with `Allow` for other methods. */
export function mount(operations: readonly Operation[], deps: MountDeps) {
  const app = new Elysia({ name: 'operations', normalize: false })
  const places = new Map<string, PathMethods>()
  const recordRead = reader(deps.recordRead)
  for (const operation of operations) {
    const path = routePath(operation.path)
    const place = places.get(path) ?? { methods: new Set(), forPages: new Set() }
    places.set(path, place)
    place.methods.add(operation.method)
    if (isForPages(operation.access)) place.forPages.add(operation.method)
    const keyOf = lockOf(operation)
    app.route(
      operation.method,
      path,
      async ({ request, params, set, server }) => {
        Object.assign(set.headers, pageHeaders(operation.access))
        const peer = () => server?.requestIP(request)?.address ?? null
        const principal = await deps.authenticate(request, operation, peer)
        Object.assign(set.headers, await deps.limit(operation, principal, request))
        assertRole(operation, principal)
        // Handlers read the parameters that they know. Where there are none, nobody would notice one.
        if (operation.query === undefined) readQuery(operation, request)
        const requestId = String(set.headers[REQUEST_ID_HEADER])
        const caller = callerOf(principal)
        return deps.bodies.lease(caller, async (lease) => {
          const reading = { lease, caller, work: deps.work }
          const call = createCall(operation, request, params, principal, requestId, reading)
          const reply = await asCaller(caller, () => operation.handler(call), keyOf(caller, params))
          recordRead(operation, principal, params)
          return toResponse(reply, request, set)
        })
      },
      { parse: 'none', detail: operationDetail(operation, deps.errors) },
    )
  }
  for (const [path, { methods, forPages }] of places) {
    const allow = allowHeader(methods)
    app.all(
      path,
      ({ request }) => {
        const preflight = forPages.size === 0 ? null : preflightHeaders(request, allowHeader(forPages))
        if (preflight !== null) return new Response(null, { status: 204, headers: preflight })
        throw methodNotAllowed(request.method, allow)
      },
      { parse: 'none', detail: { hide: true } },
    )
  }
  return app
}
