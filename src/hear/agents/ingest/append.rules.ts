/**
 * Appending: the service numbers the events of senders that keep no state (contract of `POST …/agent-conversations/append`). Pure.
 *
 * A sender may send the whole history with every request. The ids tell which events are known. An event with a known id is a
 * duplicate where one of its latest revisions has the same content, and otherwise a revision. The time does not decide: a duplicate
 * keeps the stored one. Comparing with earlier revisions too keeps a delayed retry from undoing a correction.
 */
import { canonicalJson, fingerprintOf, type PreparedEvent, sameFingerprint } from '../events/fingerprint.ts'
import { ALL_RULES } from '../events/redaction.ts'
import type { SanitizedEvent } from '../events/sanitize.ts'
import type { AppendEvent } from '../model.ts'
import type { AppendedEvent, AppendRequest, IngestRequest } from '../request-model.ts'
import type { StoredFingerprint } from './event.rules.ts'
import type { ByRules } from './prepare.ts'
import { eventError } from './request.rules.ts'

/** Most superseded revisions of an event that a request is compared with. It bounds the work, and retries are rarely older. */
export const COMPARED_REVISIONS = 8

/** Stands for members that `numberEvents` sets. */
const UNNUMBERED = { sequence: 0, revision: 1, occurredAt: '1970-01-01T00:00:00Z' } as const

/** The request with an id for every event. Sequences, revisions and absent times are placeholders until `numberEvents`. */
export function withIds(request: AppendRequest): IngestRequest {
  const ids = idsOf(request.events)
  const events = request.events.map(({ occurredAt = UNNUMBERED.occurredAt, ...event }, index) => {
    const { sequence, revision } = UNNUMBERED
    return { ...event, externalEventId: ids[index] as string, sequence, revision, occurredAt }
  })
  return { ...request, events }
}

/**
 * The ids of the events in their order: their own, or else SHA-256 as 64 hexadecimal digits of type, content, the target of feedback,
 * and the position among the events of the request that have these in common and no id of their own, from 1. The target makes
 * another rating of the same response a revision.
 */
export function idsOf(events: readonly AppendEvent[]): readonly string[] {
  const counts = new Map<string, number>()
  return events.map(({ externalEventId, type, content, feedback }) => {
    if (externalEventId !== undefined) return externalEventId
    const said = sha256(canonicalJson([type, content ?? null, feedback?.targetEventExternalId ?? null]))
    const position = (counts.get(said) ?? 0) + 1
    counts.set(said, position)
    return sha256(`${said} ${position}`)
  })
}

function sha256(text: string): string {
  return Bun.SHA256.hash(text, 'hex')
}

/** A stored revision of an event. */
export interface KnownRevision extends StoredFingerprint {
  readonly sequence: number
  readonly revision: number
  /** In UTC as `SanitizedEvent.occurredAt`. */
  readonly occurredAt: string
}

export interface NumberInput {
  /** In request order, with placeholders. */
  readonly events: readonly PreparedEvent[]
  /** Whether each event said when it occurred. */
  readonly timed: readonly boolean[]
  /** The time for events that did not say it, in UTC as `SanitizedEvent.occurredAt`. */
  readonly now: string
  /** The highest stored sequence of the session; -1: no event is stored. */
  readonly highest: number
  readonly settingsVersion: number
  /** The stored revisions by id: the present one and up to `COMPARED_REVISIONS` superseded ones, the highest first. */
  readonly known: ReadonlyMap<string, readonly KnownRevision[]>
  /** The bodies under settings versions; a version that does not exist has empty ones. */
  readonly bodies: ReadonlyMap<number, ByRules<string>>
  /** True where something is redacted. Other versions of the rules redact otherwise. */
  readonly redacts: boolean
}

/** The numbered events, or the settings versions whose bodies are needed first. */
export type Numbered =
  | { readonly events: readonly PreparedEvent[]; readonly missing: null }
  | { readonly events: null; readonly missing: readonly number[] }

/**
 * Gives the events their sequences, revisions and times. New events follow the stored ones in request order; a new session starts
 * with sequence 1. A duplicate gets the numbers, the time and the fingerprint of the revision that it repeats.
 * @throws AppError 409 `sequence_occupied`, `event_changed` where no higher number is left
 */
export function numberEvents(input: NumberInput): Numbered {
  const known = new Map(input.known)
  // Made by this process under these rules and settings.
  const ofRequest = new Set<KnownRevision>()
  const missing = new Set<number>()
  let last = Math.max(input.highest, 0)
  const events = input.events.map((prepared, index) => {
    const { event } = prepared
    const revisions = known.get(event.externalEventId)
    const repeated = revisions?.find((one) => isSame(input, index, one))
    if (repeated !== undefined) return placed(prepared, repeated, repeated.fingerprint)
    for (const one of revisions ?? [])
      if (!ofRequest.has(one) && needsBodies(input, one)) missing.add(one.settingsVersion)
    const present = revisions?.[0]
    const occurredAt = input.timed[index] ? event.occurredAt : (present?.occurredAt ?? input.now)
    const sequence = present?.sequence ?? last + 1
    const revision = (present?.revision ?? 0) + 1
    assertNumbers(event, index, sequence, revision)
    last = Math.max(last, sequence)
    const place = { sequence, revision, occurredAt }
    const fingerprint = fingerprintOf({ ...event, ...place }, prepared.body)
    const { settingsVersion } = input
    const stored = { ...place, fingerprint, settingsVersion }
    ofRequest.add(stored)
    known.set(event.externalEventId, [stored, ...(revisions ?? [])])
    return placed(prepared, place, fingerprint)
  })
  return missing.size > 0 ? { events: null, missing: [...missing] } : { events, missing: null }
}

/** Where the events are stored, for the answer. */
export function placesOf(events: readonly PreparedEvent[]): AppendedEvent[] {
  return events.map(({ event: { externalEventId, sequence, revision } }) => ({
    externalEventId,
    sequence,
    revision,
  }))
}

type Place = Pick<SanitizedEvent, 'sequence' | 'revision' | 'occurredAt'>

function placed(prepared: PreparedEvent, place: Place, fingerprint: Uint8Array): PreparedEvent {
  const { sequence, revision, occurredAt } = place
  return { ...prepared, event: { ...prepared.event, sequence, revision, occurredAt }, fingerprint }
}

/** True where the event has the content of the revision, sanitised under the present settings or as the revision may have been. */
function isSame({ events, bodies }: NumberInput, index: number, known: KnownRevision): boolean {
  const { event, body } = events[index] as PreparedEvent
  const { sequence, occurredAt, settingsVersion } = known
  const then = bodies.get(settingsVersion)
  const texts = new Set([body, ...ALL_RULES.map((version) => then?.[version][index])])
  return [...texts].some(
    (text) =>
      text !== undefined &&
      sameFingerprint(fingerprintOf({ ...event, sequence, occurredAt }, text), known.fingerprint),
  )
}

function needsBodies({ bodies, settingsVersion, redacts }: NumberInput, known: KnownRevision): boolean {
  if (bodies.has(known.settingsVersion)) return false
  return redacts || known.settingsVersion !== settingsVersion
}

function assertNumbers(
  event: { readonly externalEventId: string },
  index: number,
  sequence: number,
  revision: number,
): void {
  if (!Number.isSafeInteger(sequence))
    throw eventError('sequence_occupied', event, index, '', 'the session has the highest sequence already')
  if (!Number.isSafeInteger(revision))
    throw eventError('event_changed', event, index, '', 'the event has the highest revision already')
}
