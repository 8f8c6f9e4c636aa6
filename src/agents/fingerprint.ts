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
  return new Bun.CryptoHasher('sha256').update(text).digest()
}

/**
 * JSON text as RFC 8785 canonicalises it: members sorted by UTF-16 code units, no white space, numbers and strings as
 * ECMAScript writes them. Members that are undefined are left out. For values of bounded depth, as parsed requests are.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    let text = '['
    for (let index = 0; index < value.length; index++) {
      text += index === 0 ? canonicalJson(value[index]) : `,${canonicalJson(value[index])}`
    }
    return `${text}]`
  }
  const members = value as Readonly<Record<string, unknown>>
  let text = ''
  for (const name of Object.keys(members).sort()) {
    if (members[name] === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(members[name])}`
  }
  return `{${text}}`
}
