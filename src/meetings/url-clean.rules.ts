/**
 * Repairs the text of a link before it is parsed: what mail programs, HTML and copying add to it. Pure.
 *
 * Every function takes time in proportion to the length of its input.
 */

/** In characters. A meeting link in five wrappers has about 3,000. */
export const MAX_URL_LENGTH = 8_192

/** How often a value may be percent-encoded. */
const MAX_ENCODINGS = 3

const BEFORE = new Set(['<', '(', '[', '"', "'", '“', '‘'])
const BEHIND = new Set(['>', ')', ']', '"', "'", '”', '’', '.', ',', ';'])
/** The same characters, percent-encoded or in HTML. */
const ENCODED_BEHIND = ['%3e', '%29', '%22', '%5d', '&gt;', '&quot;', '&#62;', '&lt;'] as const

const HTTP = /^https?:\/{0,2}/i
const ENCODED_HTTP = /^https?%/i
/** A host and a path without a scheme. */
const NO_SCHEME = /^[a-z\d][a-z\d.-]{0,250}\.[a-z]{2,20}[/?#]/i

/** The link as it was meant: without brackets, quotes, entities and line breaks around or in it, and with a scheme. */
export function cleanedUrl(text: string): string {
  let url = withoutEntities(text.replaceAll(/[\t\r\n]/g, '').trim())
  url = stripped(url)
  if (ENCODED_HTTP.test(url)) url = stripped(decoded(url))
  if (NO_SCHEME.test(url)) return `https://${url}`
  // A wrapper may have dropped a slash.
  return url.replace(HTTP, 'https://')
}

/** The text after at most three percent-decodings; unchanged from the first one that fails. */
export function decoded(text: string): string {
  let result = text
  for (let times = 0; times < MAX_ENCODINGS && result.includes('%'); times++) {
    const next = decodedOnce(result)
    if (next === null) break
    result = next
  }
  return result
}

/** null: the text is not percent-encoded UTF-8. */
export function decodedOnce(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function withoutEntities(text: string): string {
  let result = text
  for (let times = 0; times < MAX_ENCODINGS; times++)
    result = result.replaceAll('&amp;', '&').replaceAll('&#38;', '&').replaceAll('&#x26;', '&')
  return result
}

function stripped(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && BEFORE.has(text[from] as string)) from++
  for (;;) {
    const tail = text.slice(Math.max(from, to - 6), to).toLowerCase()
    const encoded = ENCODED_BEHIND.find((end) => tail.endsWith(end))
    if (encoded !== undefined) to -= encoded.length
    else if (to > from && BEHIND.has(text[to - 1] as string)) to--
    else break
  }
  return text.slice(from, to).trim()
}

/**
 * Whether path, query or fragment contain another URL: plain, percent-encoded up to three times, or in base64. A meeting link has none,
 * and a recorder opens the link in a browser.
 */
export function hidesAnotherUrl(url: URL): boolean {
  const parts = [url.pathname, url.hash, ...[...url.searchParams].flat()]
  return parts.some((part) => namesUrl(part))
}

const BASE64 = /^[\w+/-]{12,}={0,2}$/

function namesUrl(text: string): boolean {
  const plain = decoded(text)
  if (plain.includes('://')) return true
  return plain
    .split(/[/?&=#;,]/)
    .some((part) => BASE64.test(part) && Buffer.from(part, 'base64url').toString('latin1').includes('://'))
}
