/** A signal as it is read. */
import type { Channel } from '../../../kernel/channel.ts'
import type { Rating, SignalKind, SignalSource } from '../model.ts'

interface Evidence {
  readonly quote: string
  readonly messageId?: string
  readonly recordId?: number
  readonly field?: string
  readonly recordingId?: string
  readonly startSec?: number
}

export interface SignalRow {
  readonly id: string
  readonly channel: Channel
  /** Of a conversation. */
  readonly agentKey: string | null
  readonly sessionId: string | null
  readonly externalSessionId: string | null
  /** Of a feedback record. */
  readonly recordId: number | null
  readonly feedbackSourceId: number | null
  readonly recordingId: string | null
  readonly source: SignalSource
  readonly kind: SignalKind
  readonly rating: Rating | null
  readonly labels: readonly string[]
  readonly comment: string | null
  /** Null for explicit feedback, and for findings of older versions. */
  readonly confidence: number | null
  readonly evidence: Evidence | null
  readonly analyzer: { readonly name: string; readonly version: string } | null
  /** Of a conversation. */
  readonly externalEventId: string | null
  readonly targetEventExternalId: string | null
  readonly sequence: number | null
  readonly revision: number | null
  readonly participantExternalId: string | null
  readonly productArea: string | null
  readonly agentVersion: string | null
  /** `uuid` of the person. */
  readonly personId: string | null
  readonly occurredAt: Date
  readonly createdAt: Date
  readonly createdMoment: string
  readonly occurredMoment: string
  readonly updatedAt: Date
}
