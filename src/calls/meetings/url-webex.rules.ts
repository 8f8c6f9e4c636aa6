/** Links of Webex meetings. Pure. */
import { decoded } from './url-clean.rules.ts'
import {
  type MeetingAddress,
  parameterOf,
  queryOf,
  type Refusal,
  refusal,
  secretOf,
  segmentsOf,
} from './url-parts.rules.ts'

const DOMAIN = '.webex.com'
const MTID = /^m?[\da-f]{16,64}$/i
const HEX = /^[\da-f]{16,64}$/i
const NUMBER = /^\d{8,14}$/
const UUID = /^[\w-]{16,64}$/
const USER = /^[\w.@+-]{1,100}(?<!\.)$/

/** Pages that are recordings, or numbers to dial. */
const OTHER_PAGES = /^(?:globalcallin\.php|recordingservice|playback|lsr\.php|ldr\.php|nbrshared\.php)$/

export function webexMeeting(url: URL): MeetingAddress | Refusal | null {
  const host = url.hostname.toLowerCase()
  if (!host.endsWith(DOMAIN)) return null
  const site = host.slice(0, -DOMAIN.length)
  const segments = segmentsOf(url.pathname).map((segment) => decoded(segment).toLowerCase())
  if (segments.some((segment) => OTHER_PAGES.test(segment)))
    return refusal('is a Webex recording or a list of phone numbers. Send the link that joins the meeting.')
  const found = roomOf(segments) ?? meetingOf(url.searchParams, segments)
  if (found === null)
    return refusal('is no link to a Webex meeting. Copy the link behind "Join meeting" in the invitation.')
  const { name, parameters } = found
  // The path keeps its case; what it may contain was checked above.
  const path = segmentsOf(url.pathname).map((segment) => encodeURIComponent(decoded(segment)))
  return {
    platform: 'webex',
    identity: `webex:${site}:${name}`,
    url: `https://${host}/${path.join('/')}${queryOf({ ...parameters, ...secretsOf(url.search) })}`,
  }
}

interface Found {
  /** Unique within the site. */
  readonly name: string
  /** What a recorder needs to join. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The personal room of a user. */
function roomOf([first, user, ...rest]: readonly string[]): Found | null {
  if ((first !== 'meet' && first !== 'join') || user === undefined || rest.length > 0) return null
  return USER.test(user) ? { name: `room:${user}`, parameters: {} } : null
}

function meetingOf(parameters: URLSearchParams, segments: readonly string[]): Found | null {
  const mtid = parameterOf(parameters, 'MTID', MTID)
  if (mtid !== null && isMeetingPage(segments))
    return { name: mtid.toLowerCase(), parameters: { MTID: mtid.toLowerCase() } }
  const last = segments.at(-1) ?? ''
  if (isAppPage(segments) && HEX.test(last)) return { name: last, parameters: {} }
  const number = parameterOf(parameters, 'MK', NUMBER)
  if (last === 'm.php' && number !== null) return { name: number, parameters: { AT: 'JM', MK: number } }
  const uuid = parameterOf(parameters, 'uuid', UUID)
  if (segments.join('/') === 'collabs/meetings/join' && uuid !== null)
    return { name: uuid.toLowerCase(), parameters: { uuid } }
  return null
}

/** `/wbxmjs/joinservice/sites/SITE/meeting/download/HEX`, `/webappng/sites/SITE/meeting/info/HEX` */
function isAppPage([first = '', second = '', third = '']: readonly string[]): boolean {
  return first === 'webappng' ? second === 'sites' : first === 'wbxmjs' && third === 'sites'
}

/** `/SITE/j.php` and the pages of the app. */
function isMeetingPage(segments: readonly string[]): boolean {
  return isAppPage(segments) || /^(?:j|m|e)\.php$/.test(segments.at(-1) ?? '')
}

function secretsOf(search: string): Readonly<Record<string, string | null>> {
  const pwd = secretOf(search, 'pwd')
  return { pwd, PW: pwd === null ? secretOf(search, 'PW') : null, RGID: secretOf(search, 'RGID') }
}
