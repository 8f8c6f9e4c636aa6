/**
 * Links that mail scanners and Google put around another link. They are unwrapped from their text, never by a request. Pure.
 *
 * Facts: Proofpoint's published decoder (versions 1 to 3), and the parameter `url` of Microsoft Safe Links.
 */
import { cleanedUrl, decodedOnce } from './url-clean.rules.ts'
import { type Refusal, refusal, textParameterOf } from './url-parts.rules.ts'

/** More layers than mail programs and scanners put on top of each other. */
const MAX_LAYERS = 5

const SAFE_LINKS = /(?:^|\.)safelinks\.protection\.(?:outlook\.com|office365\.us)$/
const TEAMS_SAFE_LINKS = 'statics.teams.cdn.office.net'
const PROOFPOINT = /^urldefense\.(?:proofpoint\.com|com|us)$/
const GOOGLE = /^(?:www\.)?google\.(?:com|[a-z]{2}|com?\.[a-z]{2})$/
/** The link is not in the text: only the operator of the wrapper knows it. */
const OPAQUE =
  /(?:^|\.)(?:mimecast\.com|mimecastprotect\.com|bit\.ly|tinyurl\.com|t\.co|lnkd\.in|aka\.ms|goo\.gl|ow\.ly|is\.gd|rb\.gy|cutt\.ly|safelinks\.cloud)$/

/** The innermost link. @returns a refusal if a wrapper cannot be removed */
export function unwrappedUrl(text: string): URL | Refusal {
  let url = URL.parse(cleanedUrl(text))
  for (let layer = 0; url !== null; layer++) {
    const inner = innerOf(url)
    if (inner === null) return url
    if (typeof inner === 'object') return inner
    if (layer === MAX_LAYERS)
      return refusal('is wrapped more than five times. Copy the link from the invitation.')
    url = URL.parse(cleanedUrl(inner))
  }
  return refusal('is no URL. Copy the whole link from the invitation.')
}

/** The link inside a wrapper; null: the link is no wrapper. */
function innerOf(url: URL): string | null | Refusal {
  const host = url.hostname
  if (SAFE_LINKS.test(host)) return textParameterOf(url.search, 'url') ?? damaged('Safe Links')
  if (host === TEAMS_SAFE_LINKS) return textParameterOf(url.search, 'url') ?? damaged('Safe Links')
  if (PROOFPOINT.test(host)) return ofProofpoint(url) ?? damaged('Proofpoint')
  if (GOOGLE.test(host) && url.pathname === '/url')
    return textParameterOf(url.search, 'q') ?? textParameterOf(url.search, 'url') ?? damaged('Google')
  if (OPAQUE.test(host))
    return refusal(
      `is a shortened or protected link (${host}), which hides the meeting. Open it in a browser and send the address of the meeting, or ask for the original link.`,
    )
  return null
}

const damaged = (wrapper: string) =>
  refusal(
    `is a damaged link of ${wrapper}: it contains no other link. Send the original link of the meeting.`,
  )

function ofProofpoint(url: URL): string | null {
  const version = /^\/v([123])\//.exec(url.pathname)?.[1]
  if (version === '3') return ofVersion3(url.href)
  const inner = textParameterOf(url.search, 'u')
  if (inner === null || version === undefined) return null
  return version === '1' ? inner : decodedOnce(inner.replaceAll('-', '%').replaceAll('_', '/'))
}

const RUN_LENGTHS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** `/v3/__URL__;BASE64!!…`: each `*` in URL stands for the next bytes of BASE64, `**X` for a run of them. */
function ofVersion3(href: string): string | null {
  const start = href.indexOf('/v3/__')
  const end = href.indexOf('__;', start + 6)
  if (start < 0 || end < 0) return null
  const url = href.slice(start + 6, end)
  const stop = href.indexOf('!', end)
  const bytes = Buffer.from(href.slice(end + 3, stop < 0 ? undefined : stop), 'base64url')
  const pieces: Buffer[] = []
  let taken = 0
  for (let at = 0; at < url.length; ) {
    const star = url.indexOf('*', at)
    pieces.push(Buffer.from(url.slice(at, star < 0 ? undefined : star)))
    if (star < 0) break
    const isRun = url[star + 1] === '*'
    const length = isRun ? RUN_LENGTHS.indexOf(url[star + 2] ?? ' ') + 2 : 1
    if (length < 1 || taken + length > bytes.length) return null
    pieces.push(bytes.subarray(taken, taken + length))
    taken += length
    at = star + (isRun ? 3 : 1)
  }
  return Buffer.concat(pieces).toString()
}
