/**
 * How a request changes its session: status, processing status and participants. Pure. The result does not depend on the order in
 * which requests arrive, as long as they do not contradict each other.
 */

import type { NewMessage } from '../../../actors/types.ts'
import { analysisMessages } from '../../../kernel/messages/analysis.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { canonicalJson } from '../events/fingerprint.ts'
import {
  MAX_PARTICIPANTS_PER_SESSION,
  type Participant,
  type ProcessingStatus,
  type SessionStatus,
} from '../model.ts'
import type { AgentSettings } from '../settings.ts'

/**
 * The next status by present and requested status. A terminal session does not open again. An abandoned session may become
 * ended.
 */
const STATUS_MOVES = {
  open: { open: 'open', ended: 'ended', abandoned: 'abandoned' },
  abandoned: { open: 'abandoned', ended: 'ended', abandoned: 'abandoned' },
  ended: { open: 'ended', ended: 'ended', abandoned: 'ended' },
} as const satisfies Record<SessionStatus, Record<SessionStatus, SessionStatus>>

/** The status after a request. A new session (null) starts open. A request without a status leaves it as it is. */
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
 * Least time between two turns of a session, so that requests in quick succession share a turn. The first message after a pause
 * is due at once.
 */
export const TURN_PAUSE_MS = 1_000

/** Time that the analysis of an open session waits for more responses, to read them together. */
const ANALYSIS_DELAY_MS = 1_000

/** The message that has metered responses analysed: at once where no more will come, or more wait than one turn reads. */
export function analyzeMessage(
  { organizationId, sessionId }: { readonly organizationId: string; readonly sessionId: string },
  atOnce: boolean,
): NewMessage {
  const delay = atOnce ? {} : { delayMs: ANALYSIS_DELAY_MS }
  return analysisMessages.message(sessionId, 'analyze', { organizationId, ...delay })
}

/** The processing status in the answer to a request that changed something. */
export function processingStatusFor(state: {
  readonly captureContent: boolean
  /** True where a final response of this request or of an earlier one waits for credits. */
  readonly waitsForCredits: boolean
}): ProcessingStatus {
  if (!state.captureContent) return 'capture_disabled'
  return state.waitsForCredits ? 'billing_blocked' : 'pending'
}

/**
 * The session's participants after a request. Participants with the same `externalId` are merged, and absent members overwrite
 * nothing. Participants without an `externalId` are the same where all values are equal. `boundary` is the default for participants
 * that never named one; a later request that names one wins. The result is sorted, so it does not depend on the order of arrival.
 * Returns `stored` itself where nothing changes.
 * @throws AppError 400 where the session would have too many participants
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

/** The external id, or else all values. */
function participantKey(participant: Participant): string {
  return participant.externalId === undefined
    ? `anonymous ${canonicalJson(participant)}`
    : `id ${participant.externalId}`
}
