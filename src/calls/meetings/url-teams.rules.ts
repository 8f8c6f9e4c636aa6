/**
 * Links of Microsoft Teams meetings. Pure.
 *
 * A long link names thread and tenant, a short link only digits. The two forms of one meeting cannot be matched by their text.
 */
import { decoded, decodedUntil } from './url-clean.rules.ts'
import {
  type MeetingAddress,
  queryOf,
  type Refusal,
  refusal,
  secretOf,
  segmentsOf,
  textParameterOf,
} from './url-parts.rules.ts'

/** Clouds with meetings of their own. */
const CLOUDS: Readonly<Record<string, string>> = {
  'teams.microsoft.com': 'work',
  'teams.cloud.microsoft': 'work',
  'teams.live.com': 'live',
  'gov.teams.microsoft.us': 'gov',
  'dod.teams.microsoft.us': 'dod',
}

const THREAD = /^(19:[\w.+=-]{1,200}@)(thread\.(?:v2|skype|tacv2)|unq\.gbl\.spaces)$/i
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i
const DIGITS = /^\d{10,15}$/

export function teamsMeeting(url: URL): MeetingAddress | Refusal | null {
  const isApp = url.protocol === 'msteams:'
  const host = isApp ? 'teams.microsoft.com' : url.hostname.toLowerCase()
  const cloud = Object.hasOwn(CLOUDS, host) ? CLOUDS[host] : undefined
  if (cloud === undefined) return null
  const route = routeOf(url)
  const place = placeOf(
    textParameterOf(url.search, 'fqdn') ?? textParameterOf(route?.search ?? '', 'fqdn'),
  ) ?? {
    host,
    cloud,
  }
  if (/^\/light-meetings(?:\/|$)/.test(url.pathname)) return ofCoordinates(place, url.search)
  const [kind, second, third, fourth = '0'] = segmentsOf(route?.pathname ?? '')
  if (route !== null && kind === 'l' && second === 'meetup-join')
    return ofThread(place, { thread: third ?? '', message: fourth, ...contextOf(route.search) })
  if (route !== null && kind === 'meet') return ofDigits(place, second ?? '', secretOf(route.search, 'p'))
  return refusal('is no link to a Teams meeting. Copy the link behind "Join the meeting" in the invitation.')
}

/** The pages that open a meeting name its cloud in `fqdn`: they may be on the host of another one. */
function placeOf(fqdn: string | null): Place | null {
  const host = fqdn?.toLowerCase() ?? ''
  const cloud = Object.hasOwn(CLOUDS, host) ? CLOUDS[host] : undefined
  return cloud === undefined ? null : { host, cloud }
}

/** Path and query of the meeting, wherever the Teams pages put them. */
function routeOf(url: URL): URL | null {
  const launched = /^\/dl\/launcher\//.test(url.pathname) ? launchedBy(url.search) : null
  const shown = launched ?? `${url.pathname}${url.search}${url.hash}`
  const hash = shown.indexOf('#/')
  const route = hash < 0 ? shown : shown.slice(hash + 1)
  return route.startsWith('/') && !route.startsWith('//')
    ? URL.parse(route, 'https://teams.microsoft.com')
    : null
}

/** Decoded until it is a path, and no further: what the meeting's own parameters encode stays encoded. */
function launchedBy(search: string): string {
  const url = textParameterOf(search, 'url') ?? ''
  return decodedUntil(url, (text) => text.startsWith('/'))
}

interface Place {
  readonly host: string
  readonly cloud: string
}

interface Coordinates {
  readonly thread: string
  readonly message: string
  readonly tenant: string | null
  readonly organizer: string | null
}

function ofThread({ host, cloud }: Place, { thread, message, tenant, organizer }: Coordinates) {
  const [, id, kind] = THREAD.exec(decoded(thread)) ?? []
  if (id === undefined || kind === undefined)
    return refusal('has no valid meeting thread. Copy the whole link from the Teams invitation.')
  // A meeting in a channel shares its thread with others, which have other messages.
  const inChannel = /^\d{1,20}$/.test(message) ? BigInt(message).toString() : '0'
  const name = `${id}${kind.toLowerCase()}`
  const context =
    tenant === null ? null : JSON.stringify({ Tid: tenant, ...(organizer && { Oid: organizer }) })
  const path = `https://${host}/l/meetup-join/${encodeURIComponent(name)}/${inChannel}`
  const world = cloud === 'gov' || cloud === 'dod' ? `${cloud}:` : ''
  const parts = [name, ...(tenant === null ? [] : [tenant]), ...(inChannel === '0' ? [] : [inChannel])]
  return {
    platform: 'teams',
    identity: `teams:${world}${parts.join(':')}`,
    url: `${path}${queryOf({ context: context && encodeURIComponent(context) })}`,
  } as const
}

function ofDigits({ host, cloud }: Place, text: string, passcode: string | null): MeetingAddress | Refusal {
  const digits = decoded(text)
  if (!DIGITS.test(digits))
    return refusal('has no meeting number of 10 to 15 digits. Copy the whole link from the Teams invitation.')
  return {
    platform: 'teams',
    identity: `teams:${cloud}:${digits}`,
    url: `https://${host}/meet/${digits}${queryOf({ p: passcode })}`,
  }
}

function contextOf(search: string): Pick<Coordinates, 'tenant' | 'organizer'> {
  const context = objectOf(decoded(textParameterOf(search, 'context') ?? ''))
  return { tenant: uuidOf(context.Tid), organizer: uuidOf(context.Oid) }
}

/** `coords`: base64 of JSON that may be percent-encoded. It names a thread, or number and passcode. */
function ofCoordinates(place: Place, search: string): MeetingAddress | Refusal {
  const coords = Buffer.from(decoded(textParameterOf(search, 'coords') ?? ''), 'base64').toString()
  const found = objectOf(decodedUntil(coords, (text) => text.startsWith('{')))
  const code = scalarText(found.meetingCode)
  if (code !== null) {
    const passcode = scalarText(found.passcode)
    return ofDigits(
      place,
      code,
      passcode === null ? secretOf(search, 'p') : encodeURIComponent(passcode.toWellFormed()),
    )
  }
  return ofThread(place, {
    thread: scalarText(found.conversationId) ?? '',
    message: scalarText(found.messageId) ?? '0',
    tenant: uuidOf(found.tenantId),
    organizer: uuidOf(found.organizerId),
  })
}

/** The text of a scalar; null for anything else. `String` fails for an object with a member `toString`. */
function scalarText(value: unknown): string | null {
  return value === undefined || value === null || typeof value === 'object' ? null : String(value)
}

function uuidOf(value: unknown): string | null {
  return typeof value === 'string' && UUID.test(value) ? value.toLowerCase() : null
}

function objectOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
