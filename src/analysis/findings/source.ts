/** What is analysed as one, as it was read: the words of a feedback record or a recording, and where each was said. */

import type { Channel } from '../../kernel/channel.ts'
import type { Said } from '../analyze/insight.ts'

/** Where one item of `said` is stored. */
export interface Place {
  /** Name of the field of a feedback record. */
  readonly field?: string
  /** Where each utterance starts in the text, in UTF-16 code units, and in the recording, in seconds. */
  readonly utterances?: readonly { readonly from: number; readonly startSec: number }[]
  readonly personId?: number | null
  readonly occurredAt: string
}

export interface Source {
  readonly channel: Exclude<Channel, 'conversation'>
  /** Of the feedback record or the recording. */
  readonly id: string
  readonly organizationId: string
  readonly occurredAt: string
  /** Of its row in `insight_subject`; 0: it has none. */
  readonly sourceVersion: number
  /** In the order of time. */
  readonly said: readonly Said[]
  /** The place of each item of `said`. */
  readonly places: readonly Place[]
}
