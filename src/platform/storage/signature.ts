/**
 * Playback URLs of objects that this service serves itself: path and query, signed with a secret of the service.
 *
 * The rule: everything that the answer depends on is signed, and what grants access is in the query, which no log line has.
 * Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Where playback URLs lead; the rest of the path is the key. */
export const PLAYBACK_PATH = '/media/'

export interface Grant {
  readonly key: string
  readonly contentType: string
  readonly fileName: string
  /** Seconds since 1970. */
  readonly expires: number
}

/** Path and query. */
export function signedPath(secret: Uint8Array, grant: Grant): string {
  const query = new URLSearchParams({
    type: grant.contentType,
    name: grant.fileName,
    expires: String(grant.expires),
    signature: signatureOf(secret, grant).toString('base64url'),
  })
  return `${PLAYBACK_PATH}${grant.key.split('/').map(encodeURIComponent).join('/')}?${query}`
}

/** null where something was altered, is missing, or has expired. */
export function verifiedGrant(
  secret: Uint8Array,
  key: string,
  query: URLSearchParams,
  now: Date,
): Grant | null {
  const grant = {
    key,
    contentType: query.get('type') ?? '',
    fileName: query.get('name') ?? '',
    expires: Number(query.get('expires')),
  }
  const given = Buffer.from(query.get('signature') ?? '', 'base64url')
  const expected = signatureOf(secret, grant)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  return grant.expires * 1_000 > now.getTime() ? grant : null
}

/** As JSON, so that no two grants are the same bytes. */
function signatureOf(secret: Uint8Array, { key, contentType, fileName, expires }: Grant): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['playback', key, contentType, fileName, expires]))
    .digest()
}
