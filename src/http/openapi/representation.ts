/**
 * Static content as HTTP serves it: an entity tag, 304 for who has it already, gzip for who asks (RFC 9110 sections 8.8.3,
 * 12.5.3 and 13.1.2).
 */

export interface Representation {
  /** The response to this request: 200, or 304 where the caller's copy is current. */
  respond(request: Request): Response
}

/** Below this size compression saves nothing. */
const MIN_COMPRESSED_BYTES = 1024

/** Holds the content in both encodings. `headers` go on every response. */
export function representation(
  content: Uint8Array,
  headers: Readonly<Record<string, string>>,
): Representation {
  const digest = new Bun.CryptoHasher('sha256').update(content).digest('base64url')
  // Weak: one tag stands for both encodings.
  const etag = `W/"${digest.slice(0, 22)}"`
  const compressed = content.byteLength < MIN_COMPRESSED_BYTES ? null : Bun.gzipSync(new Uint8Array(content))
  const common = { ...headers, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' }
  return {
    respond(request) {
      if (matches(request.headers.get('if-none-match'), etag))
        return new Response(null, { status: 304, headers: common })
      const gzip = compressed !== null && acceptsGzip(request.headers.get('accept-encoding'))
      if (!gzip) return new Response(new Uint8Array(content), { headers: common })
      return new Response(compressed, { headers: { ...common, 'content-encoding': 'gzip' } })
    },
  }
}

function matches(header: string | null, etag: string): boolean {
  return (header ?? '')
    .split(',')
    .some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag.slice(2))
}

function acceptsGzip(header: string | null): boolean {
  return (header ?? '')
    .split(',')
    .some(
      (coding) =>
        /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$))?/i.test(coding) && !/q=0(?:\.0*)?\s*$/.test(coding),
    )
}
