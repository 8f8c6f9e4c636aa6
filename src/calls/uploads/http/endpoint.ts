/**
 * `/uploads/{token}`: one address for the bytes of one upload, in three dialects (tus, `PUT` with `Content-Range`,
 * plain `PUT`).
 *
 * The token is the only credential, and it appears in no log line, metric or body. Every check that needs no body runs
 * before the body is read. The connection stays open after a refusal, and the runtime discards the rest of the body. If
 * the connection were closed, a client that is still sending would never see the answer.
 */
import { type Context, Elysia } from 'elysia'
import { CLIENT_GONE } from '../../../http/client-gone.ts'
import { asCaller } from '../../../platform/concurrency/caller.ts'
import { methodNotAllowed } from '../../../platform/net/methods.ts'
import { UPLOAD_PATH } from '../token.ts'
import type { UploadReceiver } from '../upload-receiver.ts'
import { corsHeaders, METHODS, preflightHeaders } from './answer.rules.ts'
import { type Exchange, toAppError, unknownUpload } from './exchange.ts'
import { type Dialect, dialectOf, methodOf, parseBytes } from './header.rules.ts'
import { putRange, putWhole } from './put.ts'
import { assertVersion, describeTus, head, patch, TUS_HEADERS, terminate } from './tus.ts'

/**
 * A client that sends nothing for this long is considered gone, even if its connection stands. Received bytes are
 * stored.
 */
const IDLE_SECONDS = 60

type Arrived = Pick<Context, 'request' | 'set' | 'server'> & { readonly params: { readonly token: string } }

/** The routes of `uploadUrl`. */
export function uploadEndpoint({ uploadReceiver }: { readonly uploadReceiver: UploadReceiver }) {
  return new Elysia({ name: 'uploads', normalize: false }).all(
    `${UPLOAD_PATH}:token`,
    (arrived) => answer(arrived, uploadReceiver),
    { parse: 'none', detail: { hide: true } },
  )
}

async function answer(
  { request, params, set, server }: Arrived,
  uploadReceiver: UploadReceiver,
): Promise<Response> {
  // 0: no idle timeout while the client waits for the service.
  const allow = (idleSeconds: number) => server?.timeout(request, idleSeconds)
  allow(0)
  const method = methodOf(request.method, request.headers)
  const dialect = dialectOf(method, request.headers)
  // Browsers may cache a 308 forever unless told otherwise.
  Object.assign(set.headers, { 'cache-control': 'no-store', vary: 'Origin' })
  if (dialect === 'tus') Object.assign(set.headers, TUS_HEADERS)
  const length = lengthOf(request)
  const takeBody = () => {
    const onWait = (isForClient: boolean) => allow(isForClient ? IDLE_SECONDS : 0)
    return { body: request.body, signal: request.signal, onWait }
  }
  try {
    const found = await uploadReceiver.find(params.token)
    if (found === null) throw unknownUpload()
    Object.assign(set.headers, corsHeaders(request.headers.get('origin'), found.origin))
    const exchange = { request, found, length, takeBody, uploadReceiver }
    const { organizationId, id } = found
    const work = async () => dispatch(exchange, method, dialect)
    const response = await asCaller(organizationId, work, `${organizationId} ${id}`)
    if (request.signal.aborted) return new Response(null, { status: CLIENT_GONE })
    return response
  } catch (error) {
    throw toAppError(error)
  } finally {
    allow(IDLE_SECONDS)
  }
}

function dispatch(exchange: Exchange, method: string, dialect: Dialect): Response | Promise<Response> {
  const { request, found } = exchange
  switch (dialect) {
    case 'preflight':
      return new Response(null, {
        status: 204,
        headers: preflightHeaders(request.headers.get('origin'), found.origin),
      })
    case 'tus':
      return speakTus(exchange, method)
    case 'range':
      return putRange(exchange)
    case 'plain':
      return putWhole(exchange)
    case 'none':
      throw methodNotAllowed(request.method, METHODS)
  }
}

function speakTus(exchange: Exchange, method: string): Response | Promise<Response> {
  if (method === 'OPTIONS') return describeTus(exchange)
  assertVersion(method, exchange.request.headers)
  if (method === 'HEAD') return head(exchange)
  return method === 'PATCH' ? patch(exchange) : terminate(exchange)
}

/** Bytes of the body: 0 without a body, null if the client does not state them. */
function lengthOf({ headers, body }: Request): number | null {
  if (headers.has('content-length')) return parseBytes(headers.get('content-length'))
  return body === null ? 0 : null
}
