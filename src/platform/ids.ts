/** Public ids: UUIDv7 (RFC 9562 section 5.7), so that ids sort by the time of their creation. */

export type NewId = () => string

/** Uses the clock of this machine. Ids of two machines sort only as well as their clocks agree. */
export const newId: NewId = () => Bun.randomUUIDv7()

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** True for the text form of any RFC 9562 UUID. A path with any other id is answered with 404. */
export function isUuid(value: string): boolean {
  return UUID.test(value)
}
