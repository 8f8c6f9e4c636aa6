/** What the rules of all platforms share. Pure. */

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

/** `?a=1&b=2` of those that are not null; '' if there are none. */
export function queryOf(parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
