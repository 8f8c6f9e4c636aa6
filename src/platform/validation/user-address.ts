/**
 * The normal form of addresses, by which users are compared: ASCII letters in lower case, the domain in its ASCII form (IDNA). No other
 * letter is folded: `toLowerCase` and PostgreSQL's `lower` make ASCII letters of some others, such as the Kelvin sign, so two people would
 * be one.
 */
import { domainToUnicode } from 'node:url'
import { isEmail } from './email-address.ts'

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
