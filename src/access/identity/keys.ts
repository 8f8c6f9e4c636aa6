/**
 * The format of API keys and agent secrets: a readable prefix, then 256 random bits in base62.
 *
 * The clear text exists only in the response that creates a key and in the requests that present it. Tables, caches and
 * look-ups use its SHA-256 digest. The timing of a look-up by digest reveals nothing useful, because an attacker cannot
 * choose digests. A salt or a slow hash would add nothing to 256 random bits.
 */

/** `esk`: an organization's API key; `eas`: a secret of an agent application; `ess`: a browser session; `esl`: a sign-in link; `epk`: a publishable key of web pages. */
export type KeyKind = 'esk' | 'eas' | 'ess' | 'esl' | 'epk'

export interface NewKey {
  /** Shown once. */
  readonly secret: string
  /** The first characters, enough to tell keys apart in a list. */
  readonly prefix: string
  readonly hash: Buffer
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 is the first power of 62 beyond 2^256. */
const DIGITS = 43
const SHAPE = /^(?:esk|eas|ess|esl|epk)_[0-9A-Za-z]{43}$/
const SHOWN_CHARACTERS = 'esk_'.length + 6

/** A new key from the system's random source. */
export function createKey(kind: KeyKind): NewKey {
  const secret = `${kind}_${base62(crypto.getRandomValues(new Uint8Array(32)))}`
  return { secret, prefix: shownPrefix(secret), hash: hashKey(secret) }
}

/** The part of a key that may be stored and shown. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, SHOWN_CHARACTERS)
}

/** SHA-256 of the whole key. */
export function hashKey(secret: string): Buffer {
  return new Bun.CryptoHasher('sha256').update(secret).digest()
}

/** False for text that cannot be a key of this kind. Callers skip the look-up then. */
export function isKey(kind: KeyKind, text: string): boolean {
  return text.startsWith(kind) && SHAPE.test(text)
}

function base62(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let digit = 0; digit < DIGITS; digit++) {
    text = ALPHABET.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
