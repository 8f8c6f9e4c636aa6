/** Links of Zoom meetings. Pure. */
import { decoded } from './url-clean.rules.ts'
import {
  isBelow,
  type MeetingAddress,
  queryOf,
  type Refusal,
  refusal,
  secretOf,
  segmentsOf,
} from './url-parts.rules.ts'

/** Domains by account world: numbers are unique within a world. */
const WORLDS = [
  ['zoom.us', 'commercial'],
  ['zoom.com', 'commercial'],
  ['zoom-x.de', 'commercial'],
  ['zoomgov.com', 'gov'],
  ['zoom.com.cn', 'cn'],
] as const

const APP_SCHEMES = new Set(['zoommtg:', 'zoomus:'])
const NUMBER = /^\d{9,11}$/
/** A full stop at the end of a link counts as the end of a sentence, so no part ends with one. */
const NAME = /^[\w.~-]{1,100}(?<!\.)$/

export function zoomMeeting(url: URL): MeetingAddress | Refusal | null {
  const host = url.hostname.toLowerCase()
  const world = WORLDS.find(([domain]) => isBelow(host, domain))?.[1]
  if (world === undefined) return null
  if (APP_SCHEMES.has(url.protocol))
    return ofNumber(url, host, world, 'j', url.searchParams.get('confno') ?? '')
  const [first = '', second = '', third = ''] = segmentsOf(url.pathname)
  const kind = first.toLowerCase()
  if (kind === 'my' && second !== '') return ofName(url, host, second)
  if (kind === 'j' || kind === 's') return ofNumber(url, host, world, 'j', second)
  if (kind === 'w') return ofNumber(url, host, world, 'w', second)
  if (kind === 'wc') return ofNumber(url, host, world, 'j', second.toLowerCase() === 'join' ? third : second)
  return refusal(reasonFor(host, [kind, second.toLowerCase()]))
}

function ofNumber(
  url: URL,
  host: string,
  world: string,
  path: 'j' | 'w',
  text: string,
): MeetingAddress | Refusal {
  const number = decoded(text).replaceAll(/[\s\u00a0\p{Pd}]/gu, '')
  if (!NUMBER.test(number))
    return refusal('has no meeting number of 9 to 11 digits. Copy the whole link from the Zoom invitation.')
  return {
    platform: 'zoom',
    identity: `zoom:${world}:${number}`,
    url: `https://${host}/${path}/${number}${secretsOf(url)}`,
  }
}

/** A personal link. The number behind it cannot be derived from its text. */
function ofName(url: URL, host: string, text: string): MeetingAddress | Refusal {
  const name = decoded(text).toLowerCase()
  if (!NAME.test(name))
    return refusal('has no valid personal name behind /my/. Copy it from the Zoom invitation.')
  const address = `https://${host}/my/${name}`
  return { platform: 'zoom', identity: `zoom:${address}`, url: `${address}${secretsOf(url)}` }
}

/** `zak`, the key of a host, is left out. */
function secretsOf({ search }: URL): string {
  return queryOf({ pwd: secretOf(search, 'pwd'), tk: secretOf(search, 'tk') })
}

function reasonFor(host: string, [kind = '', second = '']: readonly string[]): string {
  if (/^(?:events|ev)\./.test(host) || kind === 'ejl' || kind === 'ev')
    return 'belongs to Zoom Events, which recorders cannot join. Send the link of a meeting.'
  if (second === 'register') return 'is a registration page. Register, and send the link of the confirmation.'
  if (kind === 'rec') return 'is a Zoom recording, not a meeting. Create a recording with its media instead.'
  return 'is no link to a Zoom meeting. Copy the join link from the invitation, such as https://zoom.us/j/1234567890.'
}
