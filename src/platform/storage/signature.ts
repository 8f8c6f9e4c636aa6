/**
 * Playback URLs of objects that this service serves itself: path and query, signed with a secret.
 *
 * Everything that affects the response is signed. Access depends on the query, which no log line contains. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Prefix of playback URLs. The rest of the path is the key. */
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
    signature: signatureOf(secret, grant),
  })
  return `${PLAYBACK_PATH}${grant.key.split('/').map(encodeURIComponent).join('/')}?${query}`
}

/** Null if the URL was altered, is incomplete or has expired. */
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
  // The encoded texts are compared: several texts decode to the same bytes, and only one of them was given out.
  const given = Buffer.from(query.get('signature') ?? '')
  const expected = Buffer.from(signatureOf(secret, grant))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  return grant.expires * 1_000 > now.getTime() ? grant : null
}

/** Encoded as JSON, so that no two grants have the same bytes. */
function signatureOf(secret: Uint8Array, { key, contentType, fileName, expires }: Grant): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['playback', key, contentType, fileName, expires]))
    .digest('base64url')
}
