/**
 * Static content as HTTP serves it: an entity tag, 304 for who has it already, compressed for who asks (RFC 9110 sections 8.8.3,
 * 12.5.3 and 13.1.2).
 */

import { compress } from '../../platform/net/compression.ts'
import { type Coding, chooseCoding } from '../../platform/net/content-coding.rules.ts'
import { matchesEtag } from '../byte-range.ts'

export interface Representation {
  /** The response to this request: 200, or 304 where the caller's copy is current. */
  respond(request: Request): Promise<Response>
}

/** Below this size compression saves nothing. */
const MIN_COMPRESSED_BYTES = 1024

/** Compresses the content once for each coding that is asked for. `headers` go on every response. */
export function representation(
  content: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Representation {
  const digest = new Bun.CryptoHasher('sha256').update(content).digest('base64url')
  // Weak: one tag stands for every coding.
  const etag = `W/"${digest.slice(0, 22)}"`
  const isLarge = content.byteLength >= MIN_COMPRESSED_BYTES
  const kept = new Map<Coding, Promise<Uint8Array<ArrayBuffer>>>()
  const inCoding = (coding: Coding) => {
    const made = kept.get(coding) ?? compress(content, coding)
    kept.set(coding, made)
    return made
  }
  const common = { ...headers, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  return {
    async respond(request) {
      if (matchesEtag(request.headers.get('if-none-match'), etag))
        return new Response(null, { status: 304, headers: common })
      const coding = isLarge ? chooseCoding(request.headers.get('accept-encoding')) : null
      if (coding === null) return new Response(new Uint8Array(content), { headers: common })
      return new Response(await inCoding(coding), { headers: { ...common, 'content-encoding': coding } })
    },
  }
}
