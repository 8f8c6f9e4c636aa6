/**
 * Parses the headers of an upload request, for all three dialects.
 *
 * A header is parsed completely or not at all. An inexact number or a contradictory range gives null, and the request
 * is refused before its body is read.
 */

import type { Checksum, ChecksumAlgorithm } from '../upload-receiver.ts'

export const TUS_VERSION = '1.0.0'

/** Digest length of each algorithm. */
const DIGEST_BYTES: Readonly<Record<ChecksumAlgorithm, number>> = { sha1: 20, sha256: 32, md5: 16, crc32: 4 }

/**
 * `Content-Range` of a request (RFC 9110, section 14.4). `total`: size of the whole file in bytes; null if the client
 * does not state it.
 */
export type ContentRange =
  | { readonly kind: 'probe'; readonly total: number | null }
  /** `first` and `last` are both inclusive. */
  | { readonly kind: 'bytes'; readonly first: number; readonly last: number; readonly total: number | null }

/** The way a request sends bytes. `preflight` sends none; `none` stands for methods that are refused. */
export type Dialect = 'preflight' | 'tus' | 'range' | 'plain' | 'none'

/** `X-HTTP-Method-Override` overrides the method of the request (tus 1.0.0, "X-HTTP-Method-Override"). */
export function methodOf(method: string, headers: Headers): string {
  return headers.get('x-http-method-override')?.trim().toUpperCase() || method
}

/** The method determines the dialect; `Content-Range` tells the two kinds of `PUT` apart. */
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

/**
 * A number of bytes from `Upload-Offset` or `Content-Length`: digits only, at most a safe integer. null: anything else.
 */
export function parseBytes(text: string | null): number | null {
  if (text === null || !/^\d{1,16}$/.test(text.trim())) return null
  const bytes = Number(text)
  return Number.isSafeInteger(bytes) ? bytes : null
}

const RANGE = /^bytes +(?:(\d{1,16})-(\d{1,16})|\*) *\/ *(\d{1,16}|\*)$/i

/** Accepts `bytes 0-524287/2000000`, `bytes 0-9/*` (bytes), `bytes *\/2000000`, `bytes *\/*` (probe). */
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

/**
 * Parses `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=` (tus 1.0.0, "Checksum"). null: the algorithm is not offered, or the digest
 * has the wrong length.
 */
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

/** Whether the type is that of a tus `PATCH`. Parameters of the type are ignored. */
export function isOffsetStream(contentType: string | null): boolean {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase() === MEDIA_TYPE
}
