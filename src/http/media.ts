/**
 * `GET /media/…`: the objects of a store that this service serves itself, to whoever has a playback URL.
 *
 * The rule: the signature grants access, so pages of other websites may read too and no credential is looked at. The file goes
 * from the disk to the socket without passing through this program, and the server applies `Range` to it (RFC 9110, section
 * 14): 206, 416, and the whole where the header makes no sense.
 */
import { Elysia } from 'elysia'
import type { Deps } from '../container.ts'
import { AppError } from '../platform/errors.ts'
import { contentDisposition } from '../platform/storage/disposition.ts'
import { PLAYBACK_PATH } from '../platform/storage/signature.ts'
import { InvalidKey, ObjectMissing, type Playable } from '../platform/storage/storage.ts'

/** Nothing where playback URLs lead to the store itself. */
export function mediaRoutes({ storage, clock }: Pick<Deps, 'storage' | 'clock'>) {
  const app = new Elysia({ name: 'media' })
  const { playback } = storage
  if (playback === null) return app
  const answer = async ({ request }: { readonly request: Request }) => {
    const { pathname, searchParams } = new URL(request.url)
    const key = keyOf(pathname)
    const playable = await playback(key, searchParams, clock.now()).catch(asNotFound)
    if (playable === null)
      throw new AppError('playback_url_invalid', 'This playback URL has expired, or is not one of ours.')
    return new Response(Bun.file(playable.path), { headers: headersOf(playable, key, request) })
  }
  const hidden = { detail: { hide: true } }
  return app.get(`${PLAYBACK_PATH}*`, answer, hidden).head(`${PLAYBACK_PATH}*`, answer, hidden)
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
  throw isExpected ? new AppError('not_found', 'There is nothing at this address.') : error
}

function headersOf({ contentType, fileName }: Playable, key: string, request: Request) {
  return {
    'content-type': contentType,
    'content-disposition': contentDisposition(contentType, fileName),
    // An object never changes under its key.
    etag: `"${Bun.hash(key).toString(16)}"`,
    'cache-control': 'private, max-age=3600, immutable',
    // It came from somewhere else: it is what we say it is, and runs nothing.
    'x-content-type-options': 'nosniff',
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'accept-ranges, content-length, content-range',
    'cross-origin-resource-policy': 'cross-origin',
    // The server says so itself where it applies a range.
    ...(request.method === 'GET' && request.headers.has('range') ? {} : { 'accept-ranges': 'bytes' }),
  }
}
