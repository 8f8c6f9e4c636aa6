/**
 * The normal form of addresses, by which users and people are compared: without what is not seen, `mailto:` (RFC 6068), angle brackets
 * and final dots of the domain; ASCII letters in lower case, other letters composed (NFC), the domain in its ASCII form (IDNA). No other
 * letter is folded: `toLowerCase` and PostgreSQL's `lower` make ASCII letters of some others, such as the Kelvin sign, so two people would
 * be one.
 */
import { domainToUnicode } from 'node:url'
import { isEmail, MAX_EMAIL } from './email-address.ts'

/** `A` to `Z` in lower case; everything else as it is. */
const lowerAscii = (text: string) => text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())

const isAscii = (text: string) => /^[\x21-\x7e]+$/.test(text)

/** Anything else would be syntax of URLs. The full stops of other scripts separate labels as well (RFC 3490 section 3.1). */
const DOMAIN = /^[\p{L}\p{M}\p{N}._。．｡-]+$/u

/** Format characters, joiners and variation selectors. They come along when an address is copied. */
export const UNSEEN = /\p{Cf}|\u034f|[\u180b-\u180d]|[\ufe00-\ufe0f]/gu
const SCHEME = 'mailto:'
/** Characters of which normal forms would make ASCII: a question mark, a letter K, and an accent. */
const COMPOSABLE = /[^\u037e\u1fef\u212a]+/gu

/** The address without what is written around it, and composed. Its case stays. */
function bare(text: string): string {
  if (text.length > 2 * MAX_EMAIL) return text
  let address = text.replace(UNSEEN, '').trim()
  if (address.startsWith('<') && address.endsWith('>')) address = address.slice(1, -1).trim()
  if (address.slice(0, SCHEME.length).toLowerCase() === SCHEME) address = address.slice(SCHEME.length)
  let end = address.length
  while (end > 0 && '.。．｡'.includes(address.charAt(end - 1))) end--
  return inForm(address.slice(0, end), 'NFC')
}

const inForm = (text: string, form: 'NFC' | 'NFD') => text.replace(COMPOSABLE, (part) => part.normalize(form))

/** The domain as mail servers look it up: lower case, and ASCII by IDNA. Null if it is no domain. */
export function asciiDomain(text: string): string | null {
  if (!DOMAIN.test(text)) return null
  return isAscii(text) ? lowerAscii(text) : (URL.parse(`http://${text}`)?.hostname ?? null)
}

/** The normal form of the address; null for text that is no address, such as the id of a user. */
export function normalAddress(text: string): string | null {
  const address = bare(text)
  if (!isEmail(address) || /[\p{C}\p{Z}]/u.test(address)) return null
  const at = address.lastIndexOf('@')
  const domain = asciiDomain(address.slice(at + 1))
  return domain === null ? null : `${lowerAscii(address.slice(0, at))}@${domain}`
}

/**
 * Whether a provider's claim is an address as it stands. Nobody may sign in as another person by an address that differs from theirs in what is
 * not seen, although both are one person elsewhere.
 */
export const isExactAddress = (text: string): boolean =>
  bare(text) === text.trim() && normalAddress(text) !== null

/**
 * The forms in which an address may be stored or written, in lower case, the normal form first: the domain in ASCII or not, letters
 * composed or not. Empty for text that is no address.
 */
export function addressForms(text: string): readonly string[] {
  const normal = normalAddress(text)
  if (normal === null) return []
  const at = normal.lastIndexOf('@')
  const [local, domain] = [normal.slice(0, at), normal.slice(at + 1)]
  const forms = [normal, `${local}@${domainToUnicode(domain)}`]
  return [...new Set([...forms, ...forms.map((form) => inForm(form, 'NFD'))])]
}

/** The capitals of the user stay. */
function withCapitals(text: string, normal: string): string {
  const given = bare(text)
  return lowerAscii(given) === normal ? given : normal
}

/** The address of a new user: in ASCII, so that no database takes it for another one. Null for anything else. */
export function accountAddress(text: string): string | null {
  const normal = normalAddress(text)
  return normal === null || !isAscii(normal) ? null : withCapitals(text, normal)
}

/**
 * The address by which a contact is stored and looked for, in any case: the normal form with the capitals of the sender. What passes
 * `isEmail` and has no normal form, as some imported addresses, stays as it is. Null for anything else.
 */
export function contactAddress(text: string): string | null {
  const normal = normalAddress(text)
  if (normal !== null) return withCapitals(text, normal)
  return isEmail(text) ? text.trim() : null
}
