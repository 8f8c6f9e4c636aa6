/** Derives keys for different purposes from the secret that all processes of a service share. Pure. */
import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

/** A 256-bit key. It reveals neither the secret nor other keys (HKDF with SHA-256, RFC 5869). */
export function derivedKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `earshot ${purpose}`, KEY_BYTES))
}
