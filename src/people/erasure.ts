/**
 * How features erase a person in the background, step by step.
 *
 * An erasure goes through all reaches again and again, until a pass finds nothing that an earlier one left. Between two passes it waits
 * for every transaction and every turn that was running, because they may have read a text before it was erased and may write it
 * afterwards. So no feature needs to know who copies what from where. Each row says when its text was received, or is made from rows
 * that do: what was received later stays.
 *
 * Each step does a bounded amount of work in its own transaction and can be repeated. It returns where the next step starts.
 */
import type { Send } from '../actors/types.ts'
import type { Json, Tx } from '../platform/db/pool.ts'
import type { Eraser } from './erasure.rules.ts'
import type { OwnActors } from './erasure-passes.rules.ts'

export type { Eraser } from './erasure.rules.ts'
export { createEraser } from './erasure.rules.ts'

/** The person to erase. Data that arrived after `requestedAt` is new and stays. */
export interface ErasedPerson {
  readonly erasureId: string
  readonly organizationId: string
  readonly publicId: string
  readonly email: string | null
  readonly names: readonly string[]
  /** Addresses in lower case, and public ids, of people who were merged into this one. */
  readonly formerEmails?: readonly string[]
  readonly formerPublicIds?: readonly string[]
  readonly requestedAt: Date
  /** Recordings that the person took part in. */
  readonly recordingIds: readonly string[]
  readonly eraser: Eraser
  /** Number of the present pass over all reaches, from 1. */
  readonly pass: number
}

export interface ErasureStep {
  /** Where the next step starts; null if nothing is left to do. */
  readonly next: Json | null
  /** The number of changed objects of each kind. */
  readonly counts: Readonly<Partial<Record<ErasureKind, number>>>
  /** Whether the step changed anything. Default: it did if it counts something. */
  readonly changed?: boolean
}

/** One feature's part of an erasure. */
export interface ErasureReach {
  /** Stable, because progress is stored under this name. */
  readonly name: string
  /** `from` is `next` of the previous step, or null at the beginning of a pass. */
  step(tx: Tx, person: ErasedPerson, from: Json | null, send: Send): Promise<ErasureStep>
  /** True while something that was received before the request waits to be processed, and will be stored under the time of its receipt. */
  isAwaited?(tx: Tx, person: ErasedPerson): Promise<boolean>
  /** Of kinds of actors whose turns last for hours: those that concern the person. The erasure does not wait for the others. */
  ownActors?(tx: Tx, person: ErasedPerson): Promise<OwnActors>
  /** Deletes what the reach remembered of the person. */
  finish?(tx: Tx, person: ErasedPerson): Promise<void>
}

/** Kinds of erased objects, as the receipt counts them. */
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
  'codingSessions',
  'codingEvents',
] as const
export type ErasureKind = (typeof ERASURE_KINDS)[number]

/** Recordings of one step. */
const RECORDINGS = 100

/** A reach that erases in the person's recordings, a portion at a step. @param erase returns how much it changed */
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
