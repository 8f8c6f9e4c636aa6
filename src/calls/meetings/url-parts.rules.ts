/** What the rules of all platforms share. Pure. */
import { decodedOnce, endsLikeSentence } from './url-clean.rules.ts'

export const PLATFORMS = ['zoom', 'google_meet', 'teams', 'webex'] as const
export type Platform = (typeof PLATFORMS)[number]

/** A meeting, as its link names it. */
export interface MeetingAddress {
  readonly platform: Platform
  /** Equal for all links of one meeting, as far as their text tells. Contains no password and no token. */
  readonly identity: string
  /** The link for a recorder: rebuilt from known parts, with the password. Never with a host's key. */
  readonly url: string
}

/** Why a link is refused, and what to do: continues a sentence that begins with its name. */
export interface Refusal {
  readonly refused: string
}

export function refusal(refused: string): Refusal {
  return { refused }
}

/** The rule of one platform. null: the link does not belong to it. */
export type PlatformRule = (url: URL) => MeetingAddress | Refusal | null

/** The segments of a path without empty ones. */
export function segmentsOf(path: string): readonly string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** The host is one of these domains or below one. */
export function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** The value of a parameter whose name is compared without case; null if it is absent or does not match. */
export function parameterOf(parameters: URLSearchParams, name: string, pattern: RegExp): string | null {
  for (const [key, value] of parameters)
    if (key.toLowerCase() === name.toLowerCase() && pattern.test(value)) return value
  return null
}

/** Longest password or token of a link. */
const MAX_SECRET = 1_024
const VISIBLE = /^[\x21-\x7e]+$/
const CONTROL = /\p{Cc}/u

/**
 * A password or token exactly as the link has it, so that a recorder's browser reads what the sender's would: `+`, `%20` and `%2B` stay
 * different. null if it is absent or no text that a person can have typed.
 */
export function secretOf(search: string, name: string): string | null {
  const text = rawParameterOf(search, name)
  if (text === null || text.length > MAX_SECRET || !VISIBLE.test(text)) return null
  return CONTROL.test(decodedOnce(text) ?? text) ? null : text
}

/** The percent-decoded value of a parameter that is no form field: `+` is itself. null if it is absent. */
export function textParameterOf(search: string, name: string): string | null {
  const text = rawParameterOf(search, name)
  return text === null ? null : (decodedOnce(text) ?? text)
}

/** `search` as `URL.search` has it; the name is compared without case. */
function rawParameterOf(search: string, name: string): string | null {
  for (const pair of search.replace(/^\?/, '').split('&')) {
    const equals = pair.indexOf('=')
    if (equals > 0 && pair.slice(0, equals).toLowerCase() === name.toLowerCase())
      return pair.slice(equals + 1)
  }
  return null
}

/** `?a=1&b=2` of those that are not null; '' if there are none. Values are already encoded. */
export function queryOf(parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === null ? [] : [`${name}=${value}`],
  )
  const query = given.length === 0 ? '' : `?${given.join('&')}`
  return endsLikeSentence(query) ? `${query}&` : query
}
