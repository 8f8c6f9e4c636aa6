/** E-mail addresses as mail servers take them (RFC 5321 sections 4.1.2 and 4.5.3.1), without quoted local parts. */

const MAX_ADDRESS = 254
const MAX_LOCAL_PART = 64

/** A dot-atom (RFC 5322 section 3.2.3): nothing of it means anything in a header. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/
const LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i

/** True for `local@domain` in ASCII, whose domain has at least two labels and does not end in a number. */
export function isEmailAddress(text: string): boolean {
  if (text.length > MAX_ADDRESS) return false
  const at = text.lastIndexOf('@')
  const [local, labels] = [text.slice(0, at), text.slice(at + 1).split('.')]
  if (at < 1 || local.length > MAX_LOCAL_PART || !LOCAL_PART.test(local)) return false
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '')
}
