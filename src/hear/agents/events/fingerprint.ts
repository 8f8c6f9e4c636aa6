/**
 * The fingerprint of a sanitised event. It distinguishes a retry from a change.
 *
 * It covers all stored members except the revision and the settings version. It does not depend on the order of members or on the
 * notation of times. The hashed canonical text is also the stored text, so an event is serialised once.
 */
import type { SanitizedEvent } from './sanitize.ts'

export interface PreparedEvent {
  readonly event: SanitizedEvent
  /** Canonical JSON of `event.body`, ready to store. */
  readonly body: string
  /** SHA-256, 32 bytes. */
  readonly fingerprint: Uint8Array
}

/** Serialises and hashes one sanitised event. */
export function prepareEvent(event: SanitizedEvent): PreparedEvent {
  const body = canonicalJson(event.body)
  return { event, body, fingerprint: fingerprintOf(event, body) }
}

/** The members of an event that its fingerprint covers beside the body. */
export type EventHead = Pick<SanitizedEvent, 'externalEventId' | 'sequence' | 'type' | 'final' | 'occurredAt'>

/** The fingerprint of an event with this head and the canonical text `body`. */
export function fingerprintOf(
  { externalEventId, sequence, type, final, occurredAt }: EventHead,
  body: string,
): Uint8Array {
  const head = JSON.stringify([externalEventId, sequence, type, final, occurredAt])
  // JSON text escapes line breaks, so the line break separates head and body unambiguously.
  return sha256(`${head}\n${body}`)
}

/** The fingerprint of an event that is compared but not stored. */
export function fingerprint(event: SanitizedEvent): Uint8Array {
  return prepareEvent(event).fingerprint
}

export function sameFingerprint(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

function sha256(text: string): Uint8Array {
  return Bun.SHA256.hash(text) as Uint8Array
}

/**
 * JSON text in which equal values have equal texts: members have one fixed order, and there is no white space. Only objects that
 * are out of order are copied. `JSON.stringify` writes the text, which is several times faster than own code. Therefore names that
 * look like array indices come first, while RFC 8785 sorts them among the others.
 * The depth of values must be bounded, as it is in parsed requests.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value)) ?? 'null'
}

/** The value with the members of all objects in order: the value itself where they are already, otherwise a copy. */
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let copy: unknown[] | null = null
    for (let index = 0; index < value.length; index++) {
      const item = inOrder(value[index])
      if (item === value[index]) continue
      copy ??= value.slice()
      copy[index] = item
    }
    return copy ?? value
  }
  return membersInOrder(value as Readonly<Record<string, unknown>>)
}

function membersInOrder(value: Readonly<Record<string, unknown>>): unknown {
  const names = Object.keys(value)
  let previous = ''
  let members: [string, unknown][] | null = null
  for (const [index, name] of names.entries()) {
    const member = inOrder(value[name])
    if (members === null && (member !== value[name] || name < previous))
      members = names.slice(0, index).map((earlier) => [earlier, value[earlier]])
    members?.push([name, member])
    previous = name
  }
  if (members === null) return value
  // `fromEntries` defines members. An assignment to a member called `__proto__` would set the prototype.
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}
