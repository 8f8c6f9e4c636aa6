/** Pure decisions about pages and their feedback. */

/**
 * The origin as a browser writes it in `Origin` (RFC 6454 section 6.2). Null if the text is no origin: it has a path, a query, a user or a
 * wildcard, or its scheme is not HTTP.
 */
export function originOf(text: string): string | null {
  if (!/^https?:\/\/[^/?#@*\s]+\/?$/i.test(text)) return null
  const url = URL.parse(text)
  return url === null || url.origin === 'null' ? null : url.origin
}

/** A key without a page's `Origin` is used by a program. It is refused, although a program can forge the header. */
export function isAllowedOrigin(origins: readonly string[], origin: string | null): boolean {
  return origin !== null && origins.includes(origin)
}

/** The actor of one response: it stores what visitors say about it in the order in which they said it. */
export function responseActorId(applicationId: string, session: string, message: string): string {
  const digest = new Bun.CryptoHasher('sha256')
    .update(JSON.stringify([applicationId, session, message]))
    .digest('hex')
  // A version 8 UUID (RFC 9562 section 5.8): its bits are our own.
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}
