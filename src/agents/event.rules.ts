/**
 * The verdict on the events of one ingest request: new, retry, revision, or conflict.
 *
 * The rule: pure and all or nothing. The same events end in the same stored state whatever their order, batches and
 * repetitions, and every event of a request is counted exactly once. A 400 comes before a 409 (errors about the
 * request itself come first).
 */
import type { AppError, ErrorCode } from '../platform/errors.ts'
import { type PreparedEvent, sameFingerprint } from './fingerprint.ts'
import { eventError } from './request.rules.ts'

/** A fingerprint and the settings version that it was taken under. */
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
  /** Stored events of the session by id: at least those that `events` name or target (see `idsToLoad`). */
  readonly stored: ReadonlyMap<string, StoredEvent>
  /** Who holds the sequences of `events` in the session: sequence → id. */
  readonly occupied: ReadonlyMap<number, string>
  /** Superseded revisions by `revisionKey`: at least those that `events` repeat. */
  readonly history: ReadonlyMap<string, StoredFingerprint>
  /**
   * The fingerprint of event `index` sanitised under another settings version; null where that version is not known.
   * Redaction rules that changed between a send and its retry must not make the retry a conflict.
   */
  readonly rejudge: (index: number, settingsVersion: number) => Uint8Array | null
}

/** The three counts add up to the number of events of the request. */
export interface Decision {
  readonly inserts: readonly PreparedEvent[]
  readonly revisions: readonly PreparedEvent[]
  readonly acceptedEventCount: number
  readonly deduplicatedEventCount: number
  readonly revisedEventCount: number
}

/** Key of one revision of one event in `DecideInput.history`. */
export function revisionKey(externalEventId: string, revision: number): string {
  return `${revision} ${externalEventId}`
}

/** The ids whose stored events `decide` needs: those sent, and those that feedback is about. */
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
 * Decides about every event of a request.
 * @throws AppError 400 `invalid_feedback_target`; 409 `event_changed`, `event_sequence_moved`, `event_type_changed`,
 * `sequence_occupied`, `event_finalized`
 */
export function decide(input: DecideInput): Decision {
  const sent = new Map<string, PreparedEvent>()
  const sequences = new Map<number, string>(input.occupied)
  const verdicts = input.events.map((prepared, index): Verdict => {
    const verdict = judge(input, prepared, index, sent, sequences)
    const { externalEventId, sequence } = prepared.event
    if (!sent.has(externalEventId)) sent.set(externalEventId, prepared)
    if (!sequences.has(sequence)) sequences.set(sequence, externalEventId)
    return verdict
  })
  checkTargets(input, verdicts, sent)
  const conflict = verdicts.find((verdict) => typeof verdict === 'object')
  if (conflict !== undefined) throw conflict
  const inserts = input.events.filter((_, index) => verdicts[index] === 'insert')
  const revisions = input.events.filter((_, index) => verdicts[index] === 'revise')
  return {
    inserts,
    revisions,
    acceptedEventCount: inserts.length,
    deduplicatedEventCount: input.events.length - inserts.length - revisions.length,
    revisedEventCount: revisions.length,
  }
}

type Verdict = 'insert' | 'revise' | 'duplicate' | AppError

function judge(
  input: DecideInput,
  prepared: PreparedEvent,
  index: number,
  sent: ReadonlyMap<string, PreparedEvent>,
  sequences: ReadonlyMap<number, string>,
): Verdict {
  const { event } = prepared
  const conflict = (code: keyof typeof CONFLICTS) =>
    eventError(code, event, index, CONFLICTS[code].path, CONFLICTS[code].message)
  const twin = sent.get(event.externalEventId)
  if (twin !== undefined) {
    const same =
      twin.event.revision === event.revision && sameFingerprint(twin.fingerprint, prepared.fingerprint)
    return same ? 'duplicate' : conflict('event_changed')
  }
  const stored = input.stored.get(event.externalEventId)
  if (stored === undefined) {
    return sequences.has(event.sequence) ? conflict('sequence_occupied') : 'insert'
  }
  if (stored.type !== event.type) return conflict('event_type_changed')
  if (stored.sequence !== event.sequence) return conflict('event_sequence_moved')
  const matches = (known: StoredFingerprint) => isRetry(input, prepared, index, known)
  if (event.revision < stored.revision) {
    const older = input.history.get(revisionKey(event.externalEventId, event.revision))
    return older !== undefined && matches(older) ? 'duplicate' : conflict('event_changed')
  }
  if (event.revision === stored.revision && matches(stored)) return 'duplicate'
  if (stored.final && !event.final) return conflict('event_finalized')
  return event.revision > stored.revision ? 'revise' : conflict('event_changed')
}

/** True where the event is what was stored, if need be under the settings that it was stored under. */
function isRetry(
  input: DecideInput,
  prepared: PreparedEvent,
  index: number,
  known: StoredFingerprint,
): boolean {
  if (sameFingerprint(prepared.fingerprint, known.fingerprint)) return true
  if (known.settingsVersion === input.settingsVersion) return false
  const then = input.rejudge(index, known.settingsVersion)
  return then !== null && sameFingerprint(then, known.fingerprint)
}

/** A repeated feedback event was judged when it was stored; everything else must name an earlier response. */
function checkTargets(
  input: DecideInput,
  verdicts: readonly Verdict[],
  sent: ReadonlyMap<string, PreparedEvent>,
): void {
  for (const [index, { event }] of input.events.entries()) {
    const targetId = event.body.feedback?.targetEventExternalId
    if (verdicts[index] === 'duplicate' || targetId === undefined) continue
    const target = input.stored.get(targetId) ?? sent.get(targetId)?.event
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
