/** Links of Google Meet. Pure. */
import { decoded, withPlainHyphens } from './url-clean.rules.ts'
import { type MeetingAddress, type Refusal, refusal, segmentsOf } from './url-parts.rules.ts'

const HOST = 'meet.google.com'
const SHORT_HOST = 'g.co'
const CODE = /^([a-z]{3})-?([a-z]{4})-?([a-z]{3})$/
const NICKNAME = /^[\w.-]{1,100}(?<!\.)$/

export function googleMeet(url: URL): MeetingAddress | Refusal | null {
  const host = url.hostname.toLowerCase()
  const segments = segmentsOf(url.pathname).map((segment) => withPlainHyphens(decoded(segment)).toLowerCase())
  if (host === SHORT_HOST && segments[0] === 'meet')
    return ofNickname('https://g.co/meet/', segments[1] ?? '')
  if (host === `stream.${HOST}`)
    return refusal(
      'is a live stream of Google Meet, which recorders cannot join. Send the link of the meeting.',
    )
  if (host !== HOST) return null
  const [first = '', second = ''] = segments[0] === '_meet' ? segments.slice(1) : segments
  if (first === 'lookup') return ofNickname('https://meet.google.com/lookup/', second)
  const [, a, b, c] = CODE.exec(first) ?? []
  if (a === undefined)
    return refusal('has no meeting code. Send a link such as https://meet.google.com/abc-defg-hij.')
  const code = `${a}-${b}-${c}`
  return { platform: 'google_meet', identity: `google_meet:${code}`, url: `https://${HOST}/${code}` }
}

/** The code behind a nickname cannot be derived from its text. */
function ofNickname(base: string, nickname: string): MeetingAddress | Refusal {
  if (!NICKNAME.test(nickname))
    return refusal('has no valid nickname. Send a link such as https://meet.google.com/abc-defg-hij.')
  const url = `${base}${nickname}`
  return { platform: 'google_meet', identity: `google_meet:${url}`, url }
}
