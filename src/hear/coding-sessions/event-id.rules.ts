/** Ids of events: UUIDs of version 8 (RFC 9562 section 5.8) from a hash, so that equal input has equal ids. Pure. */

export function hashOf(...parts: readonly string[]): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(parts)).digest('hex')
}

/** Ids of agents are shorter. */
const LONGEST_KEPT = 200

/** What is kept of an id to know it again. */
export const keyOf = (id: string): string => (id.length <= LONGEST_KEPT ? id : hashOf(id))

/** `scope`: within it identities are unique. */
export function eventIdOf(scope: string, identity: string): string {
  const hex = hashOf(scope, identity)
  const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
