/**
 * Repairs the text of a link before it is parsed: what mail programs, HTML and copying add to it. Pure.
 *
 * Every function takes time in proportion to the length of its input.
 */

/** In characters. A meeting link in five wrappers has about 3,000. */
export const MAX_URL_LENGTH = 8_192

/** How often a value may be percent-encoded. */
const MAX_ENCODINGS = 3

/** Brackets and quotes, and what Markdown and sentences put beside a link. */
const BEFORE = /^[\p{Ps}\p{Pi}<"'`|\s]+/u
const BEHIND = /[\p{Ps}\p{Pi}\p{Pe}\p{Pf}<>"'`|.,;:。、，；：\s]/u
/** The same characters, percent-encoded or in HTML, and invisible ones. */
const ENCODED_BEHIND = [
  ...['%3c', '%3e', '%28', '%29', '%22', '%5b', '%5d', '&gt;', '&quot;', '&#62;', '&lt;'],
  ...[
    '%c2%a0',
    '%c2%ad',
    '%e2%80%8b',
    '%e2%80%8c',
    '%e2%80%8d',
    '%e2%80%8e',
    '%e2%80%8f',
    '%e2%81%a0',
    '%ef%bb%bf',
  ],
] as const
const LONGEST_BEHIND = Math.max(...ENCODED_BEHIND.map(({ length }) => length))
/** Emphasis of Markdown, if it stands at both ends: a password may end so. */
const EMPHASIS = /^(\*{1,3}|_{1,2}|~~)(.*)\1$/s

/** Zero width, direction and soft hyphen: no link contains them, and copying adds them. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu
/** The hyphens that do not break, and the dashes that word processors make of hyphens. */
const DASHES = /\p{Pd}/gu

const HTTP = /^https?:\/{0,2}/i
const ENCODED_HTTP = /^https?%/i
/** A host and a path without a scheme. */
const NO_SCHEME = /^[a-z\d][a-z\d.-]{0,250}\.[a-z]{2,20}[/?#]/i

/** The link as it was meant: without brackets, quotes, entities and line breaks around or in it, and with a scheme. */
export function cleanedUrl(text: string): string {
  const shown = withPlainHyphens(text.replaceAll(INVISIBLE, '').replaceAll(/[\t\r\n]/g, ''))
  let url = stripped(withoutEntities(shown.trim()))
  if (ENCODED_HTTP.test(url)) url = stripped(decodedUntil(url, (plain) => !ENCODED_HTTP.test(plain)))
  if (NO_SCHEME.test(url)) return `https://${url}`
  // A wrapper may have dropped a slash.
  return url.replace(HTTP, 'https://')
}

/** The text after at most three percent-decodings; unchanged from the first one that fails. */
export function decoded(text: string): string {
  return decodedUntil(text, (plain) => !plain.includes('%'))
}

/** As `decoded`, but not beyond what `isPlain` accepts. */
export function decodedUntil(text: string, isPlain: (text: string) => boolean): string {
  let result = text
  for (let times = 0; times < MAX_ENCODINGS && !isPlain(result); times++) {
    const next = decodedOnce(result)
    if (next === null) break
    result = next
  }
  return result
}

/** With the hyphen of ASCII in place of all others. */
export function withPlainHyphens(text: string): string {
  return text.replaceAll(DASHES, '-')
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

/** Whether the end of a link would be taken for what stands behind it. */
export function endsLikeSentence(text: string): boolean {
  return stripped(text) !== text
}

function stripped(text: string): string {
  const emphasised = EMPHASIS.exec(text.trim())?.[2] ?? text
  const open = emphasised.replace(BEFORE, '')
  let to = open.length
  for (;;) {
    const tail = open.slice(Math.max(0, to - LONGEST_BEHIND), to).toLowerCase()
    const encoded = ENCODED_BEHIND.find((end) => tail.endsWith(end))
    if (encoded !== undefined) to -= encoded.length
    else if (to > 0 && BEHIND.test(open[to - 1] as string)) to--
    else break
  }
  return open.slice(0, to)
}

const SCHEME = /https?:\/\//gi
/** What separates two links. */
const BETWEEN = /[\s<>()[\]{}"'|]/

/**
 * The links of a text, such as the link that a mail program puts in brackets behind its text. A link that stands twice, with nothing between,
 * is one.
 */
export function linksIn(text: string): readonly string[] {
  const links: string[] = []
  let from = 0
  for (const { index } of text.matchAll(SCHEME)) {
    if (index === 0 || !BETWEEN.test(text[index - 1] as string)) continue
    const before = text.slice(from, index)
    if (stripped(before) === '') continue
    links.push(before)
    from = index
  }
  return links.length > 0 ? [...links, text.slice(from)] : [onceOf(text.trim())]
}

function onceOf(text: string): string {
  const half = text.slice(0, text.length / 2)
  return text.length % 2 === 0 && HTTP.test(half) && half + half === text ? half : text
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
