/** What a list of sessions is asked for. Pure. */
import type { Outcome } from '../../../analysis/analyze/insight.ts'
import type { Period, ProcessingStatus, SessionStatus } from '../model.ts'
import { isBounded } from './signals.rules.ts'

export interface SessionFilter {
  /** Bounds on when the session began. */
  readonly began: Period
  /** Bounds on when the session was created: when its first event arrived. */
  readonly created: Period
  readonly agentKey?: string | undefined
  readonly externalSessionId?: string | undefined
  readonly status?: SessionStatus | undefined
  readonly processingStatus?: ProcessingStatus | undefined
  readonly environment?: string | undefined
  readonly outcome?: Outcome | undefined
}

/** The order of a list of sessions, newest first: by when they began, and where only the arrival is bounded, by arrival. */
export const orderOfSessions = ({
  began,
  created,
}: Pick<SessionFilter, 'began' | 'created'>): 'startedMoment' | 'createdMoment' =>
  isBounded(created) && !isBounded(began) ? 'createdMoment' : 'startedMoment'
