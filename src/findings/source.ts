/** What is analysed as one, as it was read: the words of a conversation, a feedback record or a recording, and where each was said. */
import type { Said } from '../analyze/insight.ts'
import type { Channel } from '../insight/model.ts'

/** Where one item of `said` is stored. */
export interface Place {
  readonly externalEventId?: string
  readonly sequence?: number
  readonly revision?: number
  readonly participantExternalId?: string | null
  readonly productArea?: string | null
  /** Name of the field of a feedback record. */
  readonly field?: string
  /** Where each utterance starts in the text, in UTF-16 code units, and in the recording, in seconds. */
  readonly utterances?: readonly { readonly from: number; readonly startSec: number }[]
  readonly personId?: number | null
  readonly occurredAt: string
}

export interface Source {
  readonly channel: Channel
  /** Of the session, the feedback record or the recording. */
  readonly id: string
  readonly organizationId: string
  readonly applicationId: string | null
  readonly occurredAt: string
  readonly productArea: string | null
  readonly agentVersion: string | null
  /** Of its row in `insight_subject`; 0: it has none. */
  readonly sourceVersion: number
  /** False: its content must not be analysed. Then nothing is read. */
  readonly isCaptured: boolean
  /** In the order of time. */
  readonly said: readonly Said[]
  /** The place of each item of `said`. */
  readonly places: readonly Place[]
}
