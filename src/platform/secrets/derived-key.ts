/** Keys for many purposes out of the one secret that all processes of a service are given. Pure. */
import { hkdfSync } from 'node:crypto'

const KEY_BYTES = 32

/** 256 bits that tell nothing of the secret nor of each other (HKDF with SHA-256, RFC 5869). */
export function derivedKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `earshot ${purpose}`, KEY_BYTES))
}
