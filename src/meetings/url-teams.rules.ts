/**
 * Links of Microsoft Teams meetings. Pure.
 *
 * A long link names thread and tenant, a short link only digits. The two forms of one meeting cannot be matched by their text.
 */
import { decoded } from './url-clean.rules.ts'
import {
  type MeetingAddress,
  parameterOf,
  queryOf,
  type Refusal,
  refusal,
  segmentsOf,
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
const PASSCODE = /^[\w.~-]{1,128}(?<!\.)$/

export function teamsMeeting(url: URL): MeetingAddress | Refusal | null {
  const isApp = url.protocol === 'msteams:'
  const host = isApp ? 'teams.microsoft.com' : url.hostname.toLowerCase()
  const cloud = Object.hasOwn(CLOUDS, host) ? CLOUDS[host] : undefined
  if (cloud === undefined) return null
  const place = { host, cloud }
  if (url.pathname.startsWith('/light-meetings/'))
    return ofCoordinates(place, url.searchParams.get('coords') ?? '')
  const route = routeOf(url)
  const [kind, second, third, fourth = '0'] = segmentsOf(route?.pathname ?? '')
  if (route !== null && kind === 'l' && second === 'meetup-join')
    return ofThread(place, { thread: third ?? '', message: fourth, ...contextOf(route.searchParams) })
  if (route !== null && kind === 'meet') return ofDigits(place, second ?? '', route.searchParams)
  return refusal('is no link to a Teams meeting. Copy the link behind "Join the meeting" in the invitation.')
}

/** Path and query of the meeting, wherever the Teams pages put them. */
function routeOf(url: URL): URL | null {
  const launched = /^\/dl\/launcher\//.test(url.pathname) ? decoded(url.searchParams.get('url') ?? '') : null
  const shown = launched ?? `${url.pathname}${url.search}${url.hash}`
  const hash = shown.indexOf('#/')
  const route = hash < 0 ? shown : shown.slice(hash + 1)
  return route.startsWith('/') && !route.startsWith('//')
    ? URL.parse(route, 'https://teams.microsoft.com')
    : null
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
    url: `${path}${queryOf({ context })}`,
  } as const
}

function ofDigits(
  { host, cloud }: Place,
  text: string,
  parameters: URLSearchParams,
): MeetingAddress | Refusal {
  const digits = decoded(text)
  if (!DIGITS.test(digits))
    return refusal('has no meeting number of 10 to 15 digits. Copy the whole link from the Teams invitation.')
  const query = queryOf({ p: parameterOf(parameters, 'p', PASSCODE) })
  return {
    platform: 'teams',
    identity: `teams:${cloud}:${digits}`,
    url: `https://${host}/meet/${digits}${query}`,
  }
}

function contextOf(parameters: URLSearchParams): Pick<Coordinates, 'tenant' | 'organizer'> {
  const context = objectOf(decoded(parameters.get('context') ?? ''))
  return { tenant: uuidOf(context.Tid), organizer: uuidOf(context.Oid) }
}

/** `coords`: base64 of JSON. */
function ofCoordinates(place: Place, coords: string): MeetingAddress | Refusal {
  const found = objectOf(Buffer.from(decoded(coords), 'base64').toString())
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
