/**
 * How a session changes with a request: its status, its processing status, its participants.
 *
 * The rule: pure, and independent of the order in which agreeing requests arrive.
 */
import type { NewMessage } from '../../actors/types.ts'
import { invalid } from '../../platform/validation/json.ts'
import { canonicalJson } from '../events/fingerprint.ts'
import {
  MAX_PARTICIPANTS_PER_SESSION,
  type Participant,
  type ProcessingStatus,
  type SessionStatus,
} from '../model.ts'
import type { AgentSettings } from '../settings.ts'

/**
 * From the present status and the requested one to the next. A terminal status does not open again; a session
 * that was given up may turn out to have ended.
 */
const STATUS_MOVES = {
  open: { open: 'open', ended: 'ended', abandoned: 'abandoned' },
  abandoned: { open: 'abandoned', ended: 'ended', abandoned: 'abandoned' },
  ended: { open: 'ended', ended: 'ended', abandoned: 'ended' },
} as const satisfies Record<SessionStatus, Record<SessionStatus, SessionStatus>>

/** The status after a request: a new session (null) starts open, and absent means unchanged. */
export function nextStatus(
  current: SessionStatus | null,
  requested: SessionStatus | undefined,
): SessionStatus {
  const present = current ?? 'open'
  return requested === undefined ? present : STATUS_MOVES[present][requested]
}

export function isTerminal(status: SessionStatus): boolean {
  return status !== 'open'
}

/**
 * Between two turns of a session, so that requests that follow one another closely share a turn. The first message after a pause
 * goes at once.
 */
export const TURN_PAUSE_MS = 1_000

/** How long the analysis of an open session waits for more responses, which it then reads together. */
const ANALYSIS_DELAY_MS = 1_000

/** The message that has metered responses analysed: at once where no more will come, or more wait than one turn reads. */
export function analyzeMessage(
  { organizationId, sessionId }: { readonly organizationId: string; readonly sessionId: string },
  atOnce: boolean,
): NewMessage {
  const delay = atOnce ? {} : { delayMs: ANALYSIS_DELAY_MS }
  return { key: `analysis:${sessionId}`, type: 'analyze', organizationId, ...delay }
}

/** What ingest answers for a request that changed something. */
export function processingStatusFor(state: {
  readonly captureContent: boolean
  /** A finalised response does, of this request or of an earlier one. */
  readonly waitsForCredits: boolean
}): ProcessingStatus {
  if (!state.captureContent) return 'capture_disabled'
  return state.waitsForCredits ? 'billing_blocked' : 'pending'
}

/**
 * The session's participants after a request: matched by `externalId`, absent members never overwrite; those without
 * one are told apart by their values. `boundary` is the default for those that never named one; a request that
 * names one later wins. Sorted, so that the result does not depend on the order of arrival.
 * Returns `stored` itself where nothing changes.
 * @throws AppError 400 where the session would have too many
 */
export function mergeParticipants(
  stored: readonly Participant[],
  sent: readonly Participant[],
  boundary: AgentSettings['participantType'],
): readonly Participant[] {
  if (sent.length === 0) return stored
  const merged = new Map(stored.map((participant) => [participantKey(participant), participant]))
  for (const participant of sent) {
    const named = { boundary, ...participant }
    const key = participantKey(named)
    merged.set(key, { boundary, ...merged.get(key), ...participant })
  }
  const result = [...merged].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, participant]) => participant)
  if (canonicalJson(result) === canonicalJson(stored)) return stored
  if (result.length <= MAX_PARTICIPANTS_PER_SESSION || result.length <= stored.length) return result
  const message = `the session would have ${result.length} participants; at most ${MAX_PARTICIPANTS_PER_SESSION} are allowed`
  throw invalid([{ path: 'participants', code: 'length', message }])
}

/** Identity: the external id, else all the values. */
function participantKey(participant: Participant): string {
  return participant.externalId === undefined
    ? `anonymous ${canonicalJson(participant)}`
    : `id ${participant.externalId}`
}
