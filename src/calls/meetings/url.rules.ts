/**
 * Which meeting a link names (contract of meeting joins). Pure: nothing is fetched, and no name is resolved.
 *
 * The identity decides whether two requests ask for the same meeting. It comes from the parts of the link that name the meeting, so that
 * other hosts of a platform, wrappers, passwords and tracking parameters do not change it.
 */
import { hidesAnotherUrl, linksIn, MAX_URL_LENGTH } from './url-clean.rules.ts'
import { googleMeet } from './url-meet.rules.ts'
import { type MeetingAddress, type PlatformRule, type Refusal, refusal } from './url-parts.rules.ts'
import { teamsMeeting } from './url-teams.rules.ts'
import { webexMeeting } from './url-webex.rules.ts'
import { unwrappedUrl } from './url-wrappers.rules.ts'
import { zoomMeeting } from './url-zoom.rules.ts'

export type { MeetingAddress, Platform } from './url-parts.rules.ts'

const RULES: readonly PlatformRule[] = [zoomMeeting, googleMeet, teamsMeeting, webexMeeting]
const SCHEMES = new Set(['https:', 'zoommtg:', 'zoomus:', 'msteams:'])

/** The meeting of a link. Time and memory are in proportion to its length, which is limited. */
export function identifyMeeting(text: string): MeetingAddress | Refusal {
  if (text.length > MAX_URL_LENGTH)
    return refusal(`has more than ${MAX_URL_LENGTH} characters. Send the link of the meeting alone.`)
  const found = linksIn(text).map((link) => meetingOf(link))
  const refused = found.find((one) => 'refused' in one)
  if (found.length > 1 && (refused !== undefined || new Set(found.map(identityOf)).size > 1))
    return refusal('contains another URL. Send the link of the meeting without it.')
  // A mail program may show the link without its password beside the one with it.
  return found.reduce((best, one) => (lengthOf(one) > lengthOf(best) ? one : best))
}

const identityOf = (found: MeetingAddress | Refusal) => ('refused' in found ? null : found.identity)
const lengthOf = (found: MeetingAddress | Refusal) => ('refused' in found ? 0 : found.url.length)

function meetingOf(text: string): MeetingAddress | Refusal {
  const url = unwrappedUrl(text)
  if ('refused' in url) return url
  if (!SCHEMES.has(url.protocol)) return refusal('must be an https link. Copy it from the invitation.')
  if (url.username !== '' || url.password !== '' || url.port !== '')
    return refusal(
      'must not name a user, a password before the host, or a port. Copy it from the invitation.',
    )
  for (const rule of RULES) {
    const found = rule(url)
    if (found === null) continue
    if (!('refused' in found) && hidesAnotherUrl(url))
      return refusal('contains another URL. Send the link of the meeting without it.')
    return found
  }
  return refusal(
    'is no link to a meeting of Zoom, Google Meet, Microsoft Teams or Webex. Copy the join link from the invitation.',
  )
}
