/**
 * `/uploads/{token}`: one address for the bytes of one upload, in three dialects (tus, `PUT` with `Content-Range`, plain `PUT`).
 *
 * The rule: the token is the credential, so nothing else is asked for, and it appears in no log line, metric or body. Whatever
 * can be refused is refused before the body is read. The connection stays open behind such an answer: the runtime takes the rest of the
 * body off it and throws it away. Were it closed, the network would drop the answer of a client that is still sending.
 */
import { type Context, Elysia } from 'elysia'
import { CLIENT_GONE } from '../../http/client-gone.ts'
import { methodNotAllowed } from '../../platform/net/methods.ts'
import type { Receiving } from '../receiving.ts'
import { UPLOAD_PATH } from '../token.ts'
import { corsHeaders, METHODS, preflightHeaders } from './answer.rules.ts'
import { type Exchange, translated, unknownUpload } from './exchange.ts'
import { type Dialect, dialectOf, methodOf, parseBytes } from './header.rules.ts'
import { putRange, putWhole } from './put.ts'
import { assertVersion, describeTus, head, patch, TUS_HEADERS, terminate } from './tus.ts'

/** A client that sends nothing for so long has gone, although its connection stands: what came of it is stored. */
const IDLE_SECONDS = 60

type Arrived = Pick<Context, 'request' | 'set' | 'server'> & { readonly params: { readonly token: string } }

/** The routes of the capability in `uploadUrl`, over the one sink of bytes. */
export function uploadEndpoint({ receiving }: { readonly receiving: Receiving }) {
  return new Elysia({ name: 'uploads', normalize: false }).all(
    `${UPLOAD_PATH}:token`,
    (arrived) => answer(arrived, receiving),
    { parse: 'none', detail: { hide: true } },
  )
}

async function answer({ request, params, set, server }: Arrived, receiving: Receiving): Promise<Response> {
  // 0: as long as the client waits for us.
  const allow = (idleSeconds: number) => server?.timeout(request, idleSeconds)
  allow(0)
  const method = methodOf(request.method, request.headers)
  const dialect = dialectOf(method, request.headers)
  // Browsers may keep a 308 for ever unless told.
  Object.assign(set.headers, { 'cache-control': 'no-store', vary: 'Origin' })
  if (dialect === 'tus') Object.assign(set.headers, TUS_HEADERS)
  const length = lengthOf(request)
  const takeBody = () => {
    const onWait = (isForClient: boolean) => allow(isForClient ? IDLE_SECONDS : 0)
    return { body: request.body, signal: request.signal, onWait }
  }
  try {
    const found = await receiving.find(params.token)
    if (found === null) throw unknownUpload()
    Object.assign(set.headers, corsHeaders(request.headers.get('origin'), found.origin))
    const response = await perform({ request, found, length, takeBody, receiving }, method, dialect)
    if (request.signal.aborted) return new Response(null, { status: CLIENT_GONE })
    return response
  } catch (error) {
    throw translated(error)
  } finally {
    allow(IDLE_SECONDS)
  }
}

function perform(exchange: Exchange, method: string, dialect: Dialect): Response | Promise<Response> {
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

/** Of the body; 0 where there is none, null where it does not say. */
function lengthOf({ headers, body }: Request): number | null {
  if (headers.has('content-length')) return parseBytes(headers.get('content-length'))
  return body === null ? 0 : null
}
