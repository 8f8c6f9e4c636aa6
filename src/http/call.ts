/**
 * Connects operations to HTTP: builds the request that a handler sees, and turns its reply into a response.
 *
 * The body is read and validated when the handler asks for it, because some errors must come first.
 */
import type { TObject, TSchema } from '@sinclair/typebox'
import type { RequestWork, Work } from '../platform/concurrency/work.ts'
import { AppError, type ErrorCode } from '../platform/errors.ts'
import { isUuid } from '../platform/ids.ts'
import { textResponse } from '../platform/net/compression.ts'
import { invalid, isStorableText, validate } from '../platform/validation/json.ts'
import { queryOf } from './address.ts'
import type { Caller } from './auth.ts'
import type { BodyLease } from './body-budget.ts'
import { jsonLoad } from './json-cost.ts'
import type { Access, Call, Method, Operation, Reply } from './operation.ts'
import { jsonOf } from './page-text.ts'
import { type BodyInput, parseBodyWork } from './parse-body.ts'
import { readParts } from './read-body.ts'

export const DEFAULT_MAX_BODY_BYTES = 1024 * 1024

/** `Allow` for the methods of one path. A path with GET also supports HEAD. */
export function allowHeader(methods: ReadonlySet<Method>): string {
  const all = new Set<string>(methods)
  if (all.has('GET')) all.add('HEAD')
  return [...all].sort().join(', ')
}

/** `/a/{id}` → `/a/:id`. */
export function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** The response for a reply, including headers already in `set`. */
export function toResponse(
  reply: Reply,
  request: Request,
  set: { readonly headers: Readonly<Record<string, string | number | string[] | undefined>> },
): Response | Promise<Response> {
  const { status, text, body } = reply
  // A `Vary` on the response would replace the one in `set`.
  const vary = set.headers.vary
  const headers = { ...(typeof vary === 'string' ? { vary } : {}), ...reply.headers }
  if (text !== undefined)
    return textResponse(request, text.content, {
      status,
      headers: { ...headers, 'content-type': `${text.mediaType}; charset=utf-8` },
    })
  if (reply.stream !== undefined)
    return new Response(reply.stream.content, {
      status,
      headers: { ...headers, 'content-type': reply.stream.mediaType },
    })
  if (body === undefined) return new Response(null, { status, headers })
  const init = { status, headers: { ...headers, 'content-type': 'application/json' } }
  const json = jsonOf(body)
  return typeof json === 'string' ? textResponse(request, json, init) : new Response(json, init)
}

/** Dependencies for reading the body of a request. */
export interface BodyReading {
  readonly lease: BodyLease
  /** Requests with the same caller share memory and threads. */
  readonly caller: string
  readonly work: RequestWork
}

/** The argument of the handler of `operation`. Nothing is read or validated until the handler asks. */
export function createCall(
  operation: Operation,
  request: Request,
  params: Readonly<Record<string, string>>,
  principal: Caller | null,
  requestId: string,
  { lease, caller, work }: BodyReading,
): Call<Access, TSchema, TObject> {
  const param = (name: string) => params[name] ?? ''
  const bodyParts = () => {
    assertJson(request)
    return readParts(request, operation.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES, lease)
  }
  const bodyThrough = async <O>(reader: Work<BodyInput, O>) => {
    const load = jsonLoad(caller, await bodyParts())
    return work.run(reader, { parts: load.parts, schema: operation.body ?? null }, load)
  }
  const parsedBody = () => bodyThrough(parseBodyWork)
  return {
    request,
    requestId,
    principal,
    param,
    id(name: string, code: ErrorCode) {
      const value = param(name)
      if (!isUuid(value)) throw new AppError(code, 'The object does not exist.')
      return value.toLowerCase()
    },
    async body() {
      if (operation.body === undefined) throw new Error(`${operation.id} declares no body`)
      return validate(operation.body, await parsedBody())
    },
    parsedBody,
    bodyThrough,
    bodyParts,
    query: () => readQuery(operation, request),
  }
}

/** `application/json` or any `+json`, with any parameters. */
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
 * The query as strings, numbers and booleans according to the schema. Unknown and repeated parameters are refused: if a
 * filter were ignored, the client would get too many results with status 200.
 */
export function readQuery(operation: Operation, request: Request): Record<string, unknown> {
  const properties: Record<string, TSchema> = operation.query?.properties ?? {}
  const raw: Record<string, unknown> = {}
  for (const [name, value] of queryOf(request)) {
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
  if (schema.type === 'integer' && /^-?\d+$/.test(value) && Number.isSafeInteger(Number(value)))
    return Number(value)
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}
