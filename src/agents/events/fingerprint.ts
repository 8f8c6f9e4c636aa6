/**
 * The fingerprint of a sanitised event, by which a retry is told from a change.
 *
 * The rule: it covers everything that is stored but the revision and the settings version, and depends on neither
 * the order of members nor the way a time is written. The canonical text that is hashed is also the text that is
 * stored, so an event is serialised once.
 */
import type { SanitizedEvent } from './sanitize.ts'

export interface PreparedEvent {
  readonly event: SanitizedEvent
  /** Canonical JSON of `event.body`, ready to be stored. */
  readonly body: string
  /** SHA-256, 32 bytes. */
  readonly fingerprint: Uint8Array
}

/** Serialises and hashes one sanitised event. */
export function prepareEvent(event: SanitizedEvent): PreparedEvent {
  const body = canonicalJson(event.body)
  const { externalEventId, sequence, type, final, occurredAt } = event
  const head = JSON.stringify([externalEventId, sequence, type, final, occurredAt])
  // JSON text holds no line break outside of an escape, so head and body cannot run into each other.
  return { event, body, fingerprint: sha256(`${head}\n${body}`) }
}

/** The fingerprint alone, for an event that is compared but not stored. */
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
 * JSON text in which equal values are equal texts: members in one fixed order, no white space. Only objects that are out
 * of order are copied, and the engine writes the text, which is several times faster than writing it here. That
 * is why names like array indices come first, where RFC 8785 sorts them among the others.
 * For values of bounded depth, as parsed requests are.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value)) ?? 'null'
}

/** The value itself where every object in it has its members in order, else a copy that has. */
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
  // Defines members rather than assigning them: one may be called `__proto__`.
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)))
}
