/**
 * Judges the events of one ingest request: each is new, a retry, a revision, or a conflict. Pure.
 *
 * A request is accepted or refused as a whole. The same events lead to the same stored state in whatever order, batches and
 * repetitions they arrive. Every event of a request is counted exactly once. Errors about the request itself (400) come before
 * conflicts (409).
 */
import type { AppError, ErrorCode } from '../../../platform/errors.ts'
import { type PreparedEvent, sameFingerprint } from '../events/fingerprint.ts'
import { ALL_RULES, PRESENT_RULES, type RulesVersion } from '../events/redaction.ts'
import { eventError } from './request.rules.ts'

/** A fingerprint and the settings that the event was sanitised under. Any version of the rules of redaction may have been in force. */
export interface StoredFingerprint {
  readonly fingerprint: Uint8Array
  readonly settingsVersion: number
}

/** The present revision of a stored event. */
export interface StoredEvent extends StoredFingerprint {
  readonly sequence: number
  readonly revision: number
  readonly type: string
  readonly final: boolean
}

export interface DecideInput {
  /** In request order, sanitised under `settingsVersion`. */
  readonly events: readonly PreparedEvent[]
  readonly settingsVersion: number
  /** Stored events of the session by id: at least those with an id of `idsToLoad`. */
  readonly stored: ReadonlyMap<string, StoredEvent>
  /** Ids of the stored events that have a sequence of `events`, by sequence. */
  readonly occupied: ReadonlyMap<number, string>
  /** Superseded revisions by `revisionKey`: at least those that `events` repeat. */
  readonly history: ReadonlyMap<string, StoredFingerprint>
  /**
   * The fingerprint of event `index` sanitised under a settings version and a version of the rules of redaction; null where these
   * settings are unknown. A change of either between an event and its retry must not make the retry a conflict.
   */
  readonly rejudge: (index: number, settingsVersion: number, rules: RulesVersion) => Uint8Array | null
  /** The error (400) of an event that the present settings do not allow; null: allowed. Not called for retries. */
  readonly refusal: (index: number) => AppError | null
}

/** The three counts add up to the number of events of the request. */
export interface Decision {
  /** New events, each in its highest revision in the request. */
  readonly inserts: readonly PreparedEvent[]
  /** Higher revisions of stored events, each the highest in the request. */
  readonly revisions: readonly PreparedEvent[]
  /** Revisions that a higher revision of the same request replaces. */
  readonly superseded: readonly PreparedEvent[]
  readonly acceptedEventCount: number
  readonly deduplicatedEventCount: number
  readonly revisedEventCount: number
}

/** The key of a revision in `DecideInput.history`. */
export function revisionKey(externalEventId: string, revision: number): string {
  return `${revision} ${externalEventId}`
}

/** The ids whose stored events `decide` needs: the events of the request and the targets of its feedback. */
export function idsToLoad(events: readonly PreparedEvent[]): string[] {
  const ids = new Set<string>()
  for (const { event } of events) {
    ids.add(event.externalEventId)
    if (event.body.feedback?.targetEventExternalId !== undefined)
      ids.add(event.body.feedback.targetEventExternalId)
  }
  return [...ids]
}

/**
 * Decides about every event of a request. Revisions of one event are judged in ascending order, as if each came in its own request.
 * @throws AppError 400 of `refusal`, `invalid_feedback_target`; 409 `event_changed`, `event_sequence_moved`, `event_type_changed`,
 * `sequence_occupied`, `event_finalized`
 */
export function decide(input: DecideInput): Decision {
  const { events } = input
  const repeats = new Set(events.map(({ event }) => event.externalEventId)).size < events.length
  const seen: Seen = { present: repeats ? new Map() : null, sequences: new Map(input.occupied) }
  const verdicts: Verdict[] = []
  for (const index of repeats ? inRevisionOrder(events) : events.keys())
    verdicts[index] = judge(input, index, seen)
  checkAllowed(input, verdicts)
  checkTargets(input, verdicts)
  const conflict = verdicts.find((verdict) => typeof verdict === 'object')
  if (conflict !== undefined) throw conflict
  return repeats ? decisionOfRepeats(events, verdicts) : decisionOf(events, verdicts)
}

/** The positions of the events in the order to judge them: revisions of one id ascend, other events keep their position. */
function inRevisionOrder(events: readonly PreparedEvent[]): readonly number[] {
  const order = events.map((_, index) => index)
  const byId = Map.groupBy(order, (index) => idAt(events, index))
  for (const places of byId.values()) {
    const ascending = places.toSorted((a, b) => revisionAt(events, a) - revisionAt(events, b))
    for (const [n, place] of places.entries()) order[place] = ascending[n] as number
  }
  return order
}

const idAt = (events: readonly PreparedEvent[], index: number) =>
  (events[index] as PreparedEvent).event.externalEventId
const revisionAt = (events: readonly PreparedEvent[], index: number) =>
  (events[index] as PreparedEvent).event.revision

/** The decision where all events have different ids. */
function decisionOf(events: readonly PreparedEvent[], verdicts: readonly Verdict[]): Decision {
  const inserts = events.filter((_, index) => verdicts[index] === 'insert')
  const revisions = events.filter((_, index) => verdicts[index] === 'revise')
  return {
    inserts,
    revisions,
    superseded: [],
    acceptedEventCount: inserts.length,
    deduplicatedEventCount: events.length - inserts.length - revisions.length,
    revisedEventCount: revisions.length,
  }
}

function decisionOfRepeats(events: readonly PreparedEvent[], verdicts: readonly Verdict[]): Decision {
  const stored = events.filter((_, index) => verdicts[index] === 'insert' || verdicts[index] === 'revise')
  const newest = new Map<string, PreparedEvent>()
  for (const prepared of stored) {
    const { externalEventId, revision } = prepared.event
    if (revision > (newest.get(externalEventId)?.event.revision ?? 0)) newest.set(externalEventId, prepared)
  }
  const isNewest = (prepared: PreparedEvent) => newest.get(prepared.event.externalEventId) === prepared
  const inserted = new Set(
    events.filter((_, index) => verdicts[index] === 'insert').map(({ event }) => event.externalEventId),
  )
  const isNew = ({ event }: PreparedEvent) => inserted.has(event.externalEventId)
  return {
    inserts: stored.filter((prepared) => isNewest(prepared) && isNew(prepared)),
    revisions: stored.filter((prepared) => isNewest(prepared) && !isNew(prepared)),
    superseded: stored.filter((prepared) => !isNewest(prepared)),
    acceptedEventCount: inserted.size,
    deduplicatedEventCount: events.length - stored.length,
    revisedEventCount: stored.length - inserted.size,
  }
}

type Verdict = 'insert' | 'revise' | 'duplicate' | AppError

/** The stored events together with the events of the request that are already judged. */
interface Seen {
  /** Accepted events of the request by id; null where every event has its own id, because then none is looked up. */
  readonly present: Map<string, StoredEvent> | null
  /** Ids of the events by sequence. */
  readonly sequences: Map<number, string>
}

function judge(input: DecideInput, index: number, seen: Seen): Verdict {
  const { event, fingerprint } = input.events[index] as PreparedEvent
  const { externalEventId, sequence, revision, type, final } = event
  const verdict = verdictOn(input, index, seen)
  if (verdict === 'insert' || verdict === 'revise') {
    const { settingsVersion } = input
    const stored = { sequence, revision, type, final, fingerprint, settingsVersion }
    seen.present?.set(externalEventId, stored)
    seen.sequences.set(sequence, externalEventId)
  }
  return verdict
}

function verdictOn(input: DecideInput, index: number, seen: Seen): Verdict {
  const prepared = input.events[index] as PreparedEvent
  const { event } = prepared
  const conflict = (code: keyof typeof CONFLICTS, message: string = CONFLICTS[code].message) =>
    eventError(code, event, index, CONFLICTS[code].path, message)
  const stored = seen.present?.get(event.externalEventId) ?? input.stored.get(event.externalEventId)
  if (stored === undefined)
    return seen.sequences.has(event.sequence) ? conflict('sequence_occupied') : 'insert'
  if (stored.type !== event.type) return conflict('event_type_changed')
  if (stored.sequence !== event.sequence) return conflict('event_sequence_moved')
  const matches = (known: StoredFingerprint) => isRetry(input, prepared, index, known)
  if (event.revision < stored.revision) {
    const older = input.history.get(revisionKey(event.externalEventId, event.revision))
    if (older === undefined) return conflict('event_changed', NEVER_STORED)
    return matches(older) ? 'duplicate' : conflict('event_changed')
  }
  if (event.revision === stored.revision && matches(stored)) return 'duplicate'
  if (stored.final && !event.final) return conflict('event_finalized')
  return event.revision > stored.revision ? 'revise' : conflict('event_changed')
}

/** True where the event equals the stored one, sanitised under the present settings or as the stored one may have been. */
function isRetry(
  input: DecideInput,
  prepared: PreparedEvent,
  index: number,
  known: StoredFingerprint,
): boolean {
  if (sameFingerprint(prepared.fingerprint, known.fingerprint)) return true
  const { settingsVersion } = known
  return ALL_RULES.some((rules) => {
    if (settingsVersion === input.settingsVersion && rules === PRESENT_RULES) return false
    const then = input.rejudge(index, settingsVersion, rules)
    return then !== null && sameFingerprint(then, known.fingerprint)
  })
}

function checkAllowed(input: DecideInput, verdicts: readonly Verdict[]): void {
  for (const [index, verdict] of verdicts.entries()) {
    const refusal = verdict === 'duplicate' ? null : input.refusal(index)
    if (refusal !== null) throw refusal
  }
}

/** Checks that feedback targets an earlier response. A retry was checked when it was stored. */
function checkTargets(input: DecideInput, verdicts: readonly Verdict[]): void {
  let sent: ReadonlyMap<string, PreparedEvent['event']> | null = null
  for (const [index, { event }] of input.events.entries()) {
    const targetId = event.body.feedback?.targetEventExternalId
    if (verdicts[index] === 'duplicate' || targetId === undefined) continue
    sent ??= new Map(input.events.map(({ event }) => [event.externalEventId, event]))
    const target = input.stored.get(targetId) ?? sent.get(targetId)
    if (target?.type === 'assistant_message' && target.sequence < event.sequence) continue
    throw eventError(
      'invalid_feedback_target',
      event,
      index,
      'feedback.targetEventExternalId',
      'must identify an earlier assistant_message of the same session',
    )
  }
}

const NEVER_STORED =
  'has a lower revision than the stored one, and this revision was never stored; send a correction with a higher revision'

const CONFLICTS = {
  event_changed: {
    path: '',
    message:
      'differs from what was sent before under this revision; send a correction with a higher revision',
  },
  event_sequence_moved: { path: 'sequence', message: 'a revision cannot change the sequence of an event' },
  event_type_changed: { path: 'type', message: 'a revision cannot change the type of an event' },
  sequence_occupied: { path: 'sequence', message: 'is taken by another event of this session' },
  event_finalized: { path: 'final', message: 'a finalized event cannot become partial again' },
} as const satisfies Partial<Record<ErrorCode, { path: string; message: string }>>
