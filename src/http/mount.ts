/**
 * Turns operations into Elysia routes.
 *
 * The order for every request: request id → route → 405 → authentication (401, 403) → the handler, which looks up
 * (404), reads the body (415, 400) and acts (409). `parse: 'none'` leaves the body unread until the handler asks,
 * so a refused request costs no parsing.
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { Principal } from '../identity/principal.ts'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import { isUuid, type NewId } from '../platform/ids.ts'
import { invalid, isStorableText, parseJson, readBytes, validate } from './json.ts'
import type { Access, Call, Method, Operation, Reply } from './operation.ts'
import { operationDetail } from './operation-detail.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'

export const DEFAULT_MAX_BODY_BYTES = 1024 * 1024

export interface MountDeps {
  readonly newId: NewId
  /** `peer` finds the address of the connection's other end, null where unknown. @throws AppError 401 or 403 */
  readonly authenticate: (
    request: Request,
    access: Access,
    peer: () => string | null,
  ) => Promise<Principal | null>
  /** Counts the request against its limits and returns the headers to send. @throws AppError 429 */
  readonly limit: (
    operation: Operation,
    principal: Principal | null,
    request: Request,
  ) => Promise<Record<string, string>>
}

/** One Elysia instance with a route per operation, and 405 with `Allow` for the other methods of each path. */
export function mount(operations: readonly Operation[], deps: MountDeps) {
  const app = new Elysia({ name: 'operations', normalize: false })
  const methods = new Map<string, Set<Method>>()
  for (const operation of operations) {
    const path = routePath(operation.path)
    const known = methods.get(path) ?? new Set()
    methods.set(path, known.add(operation.method))
    app.route(
      operation.method,
      path,
      async ({ request, params, set, server }) => {
        const peer = () => server?.requestIP(request)?.address ?? null
        const principal = await deps.authenticate(request, operation.access, peer)
        Object.assign(set.headers, await deps.limit(operation, principal, request))
        const requestId = String(set.headers[REQUEST_ID_HEADER])
        const reply = await operation.handler(createCall(operation, request, params, principal, requestId))
        return toResponse(reply)
      },
      { parse: 'none', detail: operationDetail(operation) },
    )
  }
  for (const [path, allowed] of methods) {
    const allow = allowHeader(allowed)
    app.all(
      path,
      ({ request }) => {
        throw new AppError(
          'method_not_allowed',
          `${request.method} is not allowed here. Allowed: ${allow}.`,
          { headers: { allow } },
        )
      },
      { parse: 'none', detail: { hide: true } },
    )
  }
  return app
}

function allowHeader(methods: ReadonlySet<Method>): string {
  const all = new Set<string>(methods)
  if (all.has('GET')) all.add('HEAD')
  return [...all].sort().join(', ')
}

/** `/a/{id}` → `/a/:id`. */
function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function toResponse(reply: Reply): Response {
  if (reply.text !== undefined) {
    const { mediaType, content } = reply.text
    const headers = { ...reply.headers, 'content-type': `${mediaType}; charset=utf-8` }
    return new Response(content, { status: reply.status, headers })
  }
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers: reply.headers })
  return new Response(JSON.stringify(reply.body), {
    status: reply.status,
    headers: { ...reply.headers, 'content-type': 'application/json' },
  })
}

function createCall(
  operation: Operation,
  request: Request,
  params: Readonly<Record<string, string>>,
  principal: Principal | null,
  requestId: string,
): Call<Access, TSchema, TObject> {
  const param = (name: string) => params[name] ?? ''
  const parsedBody = async () => {
    assertJson(request)
    const bytes = await readBytes(request, operation.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES)
    return { value: parseJson(bytes), bytes: bytes.byteLength }
  }
  return {
    request,
    requestId,
    principal,
    param,
    id(name: string, code: ErrorCode) {
      const value = param(name)
      if (!isUuid(value)) throw new AppError(code, 'There is no such object.')
      return value.toLowerCase()
    },
    async body() {
      if (operation.body === undefined) throw new Error(`${operation.id} declares no body`)
      return validate(operation.body, (await parsedBody()).value)
    },
    parsedBody,
    query: () => readQuery(operation, request),
  }
}

/** `application/json` or any `+json`, with whatever parameters. */
const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;|$)/i

function assertJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (type !== null && JSON_TYPE.test(type)) return
  throw new AppError(
    'unsupported_media_type',
    'The request body must be sent as Content-Type: application/json.',
  )
}

/**
 * The query as strings, numbers and booleans according to the schema. An ignored filter would return more than was
 * asked for with a 200 that looks right, so an unknown or repeated parameter is refused.
 */
function readQuery(operation: Operation, request: Request): Record<string, unknown> {
  const properties: Record<string, TSchema> = operation.query?.properties ?? {}
  const raw: Record<string, unknown> = {}
  for (const [name, value] of new URL(request.url).searchParams) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (schema === undefined)
      throw invalid([{ path: name, code: 'unknown_member', message: 'is not a parameter of this operation' }])
    if (Object.hasOwn(raw, name))
      throw invalid([{ path: name, code: 'repeated', message: 'must be given once' }])
    if (!isStorableText(value))
      throw invalid([{ path: name, code: 'not_storable', message: 'must not contain U+0000' }])
    raw[name] = coerce(schema, value)
  }
  for (const [name, schema] of Object.entries(properties)) {
    if (!(name in raw) && schema.default !== undefined) raw[name] = schema.default
  }
  return operation.query === undefined ? raw : validate(operation.query, raw)
}

function coerce(schema: TSchema, value: string): unknown {
  if (schema.type === 'integer' && /^-?\d{1,15}$/.test(value)) return Number(value)
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
