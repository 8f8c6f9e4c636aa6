/**
 * What features do to erase a person, step by step in the background.
 *
 * The rule: a step is bounded, runs in a transaction of its own, and may be run again. It says where the next one goes on.
 */
import type { Send } from '../actors/types.ts'
import type { Json, Tx } from '../platform/db/pool.ts'
import type { Eraser } from './erasure.rules.ts'

export type { Eraser } from './erasure.rules.ts'
export { createEraser } from './erasure.rules.ts'

/** Who is erased. What arrived after `requestedAt` is new data and stays. */
export interface ErasedPerson {
  readonly organizationId: string
  readonly publicId: string
  readonly email: string | null
  readonly names: readonly string[]
  readonly requestedAt: Date
  /** Recordings that the person took part in. */
  readonly recordingIds: readonly string[]
  readonly eraser: Eraser
}

export interface ErasureStep {
  /** Where the next step goes on; null: nothing is left to do. */
  readonly next: Json | null
  /** How many things of each kind were changed. */
  readonly counts: Readonly<Partial<Record<ErasureKind, number>>>
}

/** One feature's part of an erasure. */
export interface ErasureReach {
  /** Stable: progress is stored under it. */
  readonly name: string
  /** `from` is `next` of the step before; null at the beginning. */
  step(tx: Tx, person: ErasedPerson, from: Json | null, send: Send): Promise<ErasureStep>
}

/** What is counted. */
export const ERASURE_KINDS = [
  'feedbackRecords',
  'participations',
  'sessions',
  'events',
  'signals',
  'recordings',
  'utterances',
  'values',
  'fileNames',
] as const
export type ErasureKind = (typeof ERASURE_KINDS)[number]

/** Recordings of one step. */
const RECORDINGS = 100

/** A reach that takes the recordings of the person in portions. @param erase says what it changed */
export function overRecordings(
  name: string,
  erase: (tx: Tx, person: ErasedPerson, ids: readonly string[]) => Promise<ErasureStep['counts']>,
): ErasureReach {
  return {
    name,
    async step(tx, person, from) {
      const start = typeof from === 'number' ? from : 0
      const ids = person.recordingIds.slice(start, start + RECORDINGS)
      const counts = ids.length === 0 ? {} : await erase(tx, person, ids)
      const end = start + RECORDINGS
      return { next: end < person.recordingIds.length ? end : null, counts }
    },
  }
}
