/**
 * E-mail addresses. Three checks, from loose to strict:
 *
 * - `isEmail`, for addresses that identify a person. Imported data contains addresses that no mail server would accept today.
 * - `isHeaderAddress`, for addresses in settings, which go into mail headers and may have a local domain.
 * - `isEmailAddress`, for addresses of strangers to which the service sends mail.
 *
 * Addresses of users are compared by their normal form: ASCII letters in lower case, the domain in its ASCII form (IDNA). No other letter
 * is folded: `toLowerCase` and PostgreSQL's `lower` make ASCII letters of some others, such as the Kelvin sign, so two people would be one.
 */

import { domainToUnicode } from 'node:url'

/** RFC 5321: 64 characters of the local part, `@`, and 255 of the domain. */
export const MAX_EMAIL = 320

/** One `@` between two parts without white space. White space around the address is allowed. */
export const EMAIL_PATTERN = '^\\s*[^\\s@]+@[^\\s@]+\\s*$'
const EMAIL = new RegExp(EMAIL_PATTERN)

/** True for `something@something` of at most `MAX_EMAIL` characters. */
export function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL && EMAIL.test(text)
}

const HEADER_ADDRESS = /^[^\s<>@,;"]+@[^\s<>@,;"]+$/

/** True for an address without characters that separate addresses in a header. */
export function isHeaderAddress(text: string): boolean {
  return HEADER_ADDRESS.test(text)
}

const MAX_ADDRESS = 254
const MAX_LOCAL_PART = 64
/** A dot-atom (RFC 5322 section 3.2.3), which needs no quotes in a header. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i

/**
 * True for an address that mail servers accept (RFC 5321 sections 4.1.2 and 4.5.3.1), without quoted local parts: ASCII, with
 * a domain of at least two labels that does not end in a number.
 */
export function isEmailAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS) return false
  const at = text.lastIndexOf('@')
  const [local, labels] = [text.slice(0, at), text.slice(at + 1).split('.')]
  if (at < 1 || local.length > MAX_LOCAL_PART || !LOCAL_PART.test(local)) return false
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
}

/** `A` to `Z` in lower case; everything else as it is. */
const lowerAscii = (text: string) => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())

const isAscii = (text: string) => /^[\x21-\x7e]+$/.test(text)

/** Anything else would be syntax of URLs. */
const DOMAIN = /^[\p{L}\p{M}\p{N}._-]+$/u

/** The domain as mail servers look it up: lower case, and ASCII by IDNA. Null if it is no domain. */
export function asciiDomain(text: string): string | null {
  if (!DOMAIN.test(text)) return null
  return isAscii(text) ? lowerAscii(text) : (URL.parse(`http://${text}`)?.hostname ?? null)
}

/** The normal form of the address; null for text that is no address, such as the id of a user. */
export function normalAddress(text: string): string | null {
  // Unicode's own normal forms make ASCII letters of others, too.
  const address = text.trim()
  if (!isEmail(address) || /[\p{C}\p{Z}]/u.test(address)) return null
  const at = address.lastIndexOf('@')
  const domain = asciiDomain(address.slice(at + 1))
  return domain === null ? null : `${lowerAscii(address.slice(0, at))}@${domain}`
}

/**
 * The forms in which an address may be stored, by which users are looked for: addresses that were stored before there was a normal
 * form may have a domain that is not ASCII.
 */
export function addressForms(text: string): readonly string[] {
  const normal = normalAddress(text)
  if (normal === null) return []
  const at = normal.lastIndexOf('@')
  return [...new Set([normal, normal.slice(0, at + 1) + domainToUnicode(normal.slice(at + 1))])]
}

/** The address of a new user: in ASCII, so that no database takes it for another one. Null for anything else. */
export function accountAddress(text: string): string | null {
  const normal = normalAddress(text)
  if (normal === null || !isAscii(normal)) return null
  const given = text.trim()
  // The capitals of the user stay.
  return lowerAscii(given) === normal ? given : normal
}
