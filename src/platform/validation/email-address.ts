/**
 * E-mail addresses. Three checks, from loose to strict:
 *
 * - `isEmail`, for addresses that identify a person. Imported data contains addresses that no mail server would accept today.
 * - `isHeaderAddress`, for addresses in settings, which go into mail headers and may have a local domain.
 * - `isEmailAddress`, for addresses of strangers to which the service sends mail.
 */

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
