/**
 * What the headers of an upload request say, in all three dialects.
 *
 * The rule: a header is understood completely or not at all. A number that is not exactly one, or a range that contradicts itself,
 * gives null, and the request is refused before a byte of its body is read.
 */

import type { Checksum, ChecksumAlgorithm } from '../receiving.ts'

export const TUS_VERSION = '1.0.0'

/** Lengths of the digests. */
const DIGEST_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = { sha1: 20, sha256: 32, md5: 16, crc32: 4 }

/** `Content-Range` of a request (RFC 9110, section 14.4). `total`: bytes of the whole file, null where the client does not say. */
export type ContentRange =
  | { readonly kind: 'probe'; readonly total: number | null }
  /** `first` and `last` both belong to it. */
  | { readonly kind: 'bytes'; readonly first: number; readonly last: number; readonly total: number | null }

/** Which of the three ways to send bytes a request speaks; a preflight is none, and other methods are refused. */
export type Dialect = 'preflight' | 'tus' | 'range' | 'plain' | 'none'

/** What `X-HTTP-Method-Override` says counts, whatever the method of the request is (tus 1.0.0, "X-HTTP-Method-Override"). */
export function methodOf(method: string, headers: Headers): string {
  return headers.get('x-http-method-override')?.trim().toUpperCase() || method
}

/** Tells the dialects apart by the method, and `PUT`s by whether they name a range. */
export function dialectOf(method: string, headers: Headers): Dialect {
  switch (method) {
    case 'OPTIONS':
      return headers.has('access-control-request-method') ? 'preflight' : 'tus'
    case 'HEAD':
    case 'PATCH':
    case 'DELETE':
      return 'tus'
    case 'PUT':
      return headers.has('content-range') ? 'range' : 'plain'
    default:
      return 'none'
  }
}

/** Bytes, of `Upload-Offset` or `Content-Length`: digits only, and a number that JavaScript can count to. */
export function parseBytes(text: string | null): number | null {
  if (text === null || !/^\d{1,16}$/.test(text.trim())) return null
  const bytes = Number(text)
  return Number.isSafeInteger(bytes) ? bytes : null
}

const RANGE = /^bytes +(?:(\d{1,16})-(\d{1,16})|\*) *\/ *(\d{1,16}|\*)$/i

/** `bytes 0-524287/2000000`, `bytes 0-9/*` (bytes), `bytes *\/2000000`, `bytes *\/*` (probe). */
export function parseContentRange(text: string): ContentRange | null {
  const [matched, from, to, whole = '*'] = RANGE.exec(text.trim()) ?? []
  if (matched === undefined) return null
  const total = whole === '*' ? null : parseBytes(whole)
  if (total === null && whole !== '*') return null
  if (from === undefined || to === undefined) return { kind: 'probe', total }
  const [first, last] = [parseBytes(from), parseBytes(to)]
  if (first === null || last === null || last < first || (total !== null && last >= total)) return null
  return { kind: 'bytes', first, last, total }
}

/** `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=` (tus 1.0.0, "Checksum"). An algorithm that is not offered, or a digest of another length: null. */
export function parseChecksum(text: string): Checksum | null {
  const [, name = '', encoded = ''] = /^([a-z0-9]+) +([A-Za-z0-9+/]+={0,2})$/.exec(text.trim()) ?? []
  if (!isAlgorithm(name)) return null
  const digest = Buffer.from(encoded, 'base64')
  const isExact = digest.byteLength === DIGEST_BYTES[name] && digest.toString('base64') === encoded
  return isExact ? { algorithm: name, digest } : null
}

function isAlgorithm(name: string): name is ChecksumAlgorithm {
  return Object.hasOwn(DIGEST_BYTES, name)
}

const MEDIA_TYPE = 'application/offset+octet-stream'

/** Whether a body is what a tus `PATCH` carries; parameters of the type are of no interest. */
export function isOffsetStream(contentType: string | null): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === MEDIA_TYPE
}
