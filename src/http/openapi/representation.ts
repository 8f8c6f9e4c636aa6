/** Serves static content: entity tags, 304, and compression (RFC 9110 sections 8.8.3, 12.5.3 and 13.1.2). */

import { compress } from '../../platform/net/compression.ts'
import { type Coding, chooseCoding } from '../../platform/net/content-coding.rules.ts'
import { matchesEtag } from '../byte-range.ts'

export interface Representation {
  /** The response to this request: 200, or 304 if the client's copy is current. */
  respond(request: Request): Promise<Response>
}

/** Compressing smaller content saves nothing. */
const MIN_COMPRESSED_BYTES = 1024

/** Compresses the content once per requested coding. `headers` are added to every response. */
export function representation(
  content: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Representation {
  const digest = new Bun.CryptoHasher('sha256').update(content).digest('base64url')
  // A weak tag, because it stands for every coding.
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
