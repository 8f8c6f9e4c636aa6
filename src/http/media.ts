/**
 * `GET /media/…`: serves stored objects to holders of a playback URL.
 *
 * The signature grants access, so pages of other websites may read the answer, and credentials are ignored. The file
 * goes from disk to socket without passing through JavaScript, whole or as the requested range. Bun would apply `Range`
 * to files by itself, but then the log could not show the status.
 */
import { Elysia } from 'elysia'
import type { Deps } from '../kernel/deps.ts'
import { AppError } from '../platform/errors.ts'
import { methodNotAllowed, READ_METHODS } from '../platform/net/methods.ts'
import { contentDisposition } from '../platform/storage/disposition.ts'
import { PLAYBACK_PATH } from '../platform/storage/signature.ts'
import { InvalidKey, ObjectMissing, type Playable } from '../platform/storage/storage.ts'
import { pathOf, queryOf } from './address.ts'
import { matchesEtag, partOf } from './byte-range.ts'

/** Whether the owner of an object still refers to its key. If not, its playback URLs are invalid. */
export type IsShown = (objectKey: string) => Promise<boolean>

/** No routes if playback URLs lead to the object store itself. */
export function mediaRoutes({ storage, clock }: Pick<Deps, 'storage' | 'clock'>, isShown: IsShown) {
  const app = new Elysia({ name: 'media' })
  const { playback } = storage
  if (playback === null) return app
  const answer = async ({ request }: { readonly request: Request }) => {
    if (!READ_METHODS.includes(request.method))
      throw methodNotAllowed(request.method, READ_METHODS.join(', '))
    const key = keyOf(pathOf(request))
    const playable = await playback(key, queryOf(request), clock.now()).catch(asNotFound)
    if (playable === null)
      throw new AppError('playback_url_invalid', 'This playback URL has expired or is invalid.')
    if (!(await isShown(key))) throw notFound()
    return answerWith(playable, key, request)
  }
  const hidden = { detail: { hide: true } }
  // Not `get`: the router would answer HEAD by reading the whole file to learn its length.
  return app.all(`${PLAYBACK_PATH}*`, answer, hidden)
}

function keyOf(pathname: string): string {
  try {
    return decodeURIComponent(pathname.slice(PLAYBACK_PATH.length))
  } catch (error) {
    return asNotFound(error)
  }
}

function asNotFound(error: unknown): never {
  const isExpected =
    error instanceof ObjectMissing || error instanceof InvalidKey || error instanceof URIError
  throw isExpected ? notFound() : error
}

function notFound(): AppError {
  return new AppError('not_found', 'Nothing exists at this address.')
}

function answerWith(
  { path, size, contentType, fileName }: Playable,
  key: string,
  request: Request,
): Response {
  // An object never changes under its key.
  const etag = `"${Bun.hash(key).toString(16)}"`
  const headers = {
    'content-type': contentType,
    'content-disposition': contentDisposition(contentType, fileName),
    etag,
    'cache-control': 'private, max-age=3600, immutable',
    // The content is user data. Browsers must use the declared type and not run it.
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'accept-ranges, content-length, content-range',
    'cross-origin-resource-policy': 'cross-origin',
    'accept-ranges': 'bytes',
  }
  if (matchesEtag(request.headers.get('if-none-match'), etag))
    return new Response(null, { status: 304, headers: withoutContent(headers) })
  if (request.method === 'HEAD')
    return new Response(null, { headers: { ...headers, 'content-length': String(size) } })
  const file = Bun.file(path)
  const part = partOf(request.headers, size, etag)
  if (part === 'whole') return new Response(file, { headers })
  if (part === 'unsatisfiable')
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${size}` } })
  const { start, end } = part
  return new Response(file.slice(start, end), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${start}-${end - 1}/${size}` },
  })
}

/** A 304 updates what the client has cached and describes no body (RFC 9110, section 15.4.5). */
function withoutContent(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { 'content-type': _type, 'content-disposition': _disposition, ...kept } = headers
  return kept
}
