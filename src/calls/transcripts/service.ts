/**
 * Transcripts for other features: validate, write in the caller's transaction, read, search.
 *
 * A transcript has no visibility of its own. The caller checks the visibility of its recording first.
 */

import { forgetFindings } from '../../analysis/findings/save.ts'
import { createFairQueue } from '../../platform/concurrency/fair-queue.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { columnsOf, type TranscriptColumns } from './columns.rules.ts'
import type { TranscriptType, Utterance } from './model.ts'
import { toMonologues } from './monologue.rules.ts'
import * as search from './search.store.ts'
import * as store from './store.ts'

export type { Utterance } from './model.ts'
export type { Found } from './search.store.ts'

export type Transcripts = ReturnType<typeof createTranscripts>

/** Transcripts that are read at a time: one of each organization, because a long one keeps a core busy. */
const READERS = { places: 3, share: 1 } as const

/** An organization rests for three times as long as a long read took, so that its readers leave most of a core to others. */
const LONG_READ_MS = 20
const REST = 3
const MOST_REST_MS = 500

export function createTranscripts({ reads }: { readonly reads: Query }) {
  const queue = createFairQueue(READERS)
  /** Settles as `work` does. The place is left after the rest. */
  const inTurn = <T>(organizationId: string, work: () => Promise<T>): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<T>()
    const turn = queue.run(organizationId, async () => {
      const began = performance.now()
      const result = work()
      resolve(result)
      await result.catch(() => {})
      const tookMs = performance.now() - began
      if (tookMs > LONG_READ_MS) await Bun.sleep(Math.min(MOST_REST_MS, REST * tookMs))
    })
    // The turn itself only fails before the work begins.
    return Promise.race([promise, turn.then(() => promise)])
  }
  return {
    /** The utterances as JSON, as `read` returns them: the members of an array. */
    readJson: (organizationId: string, recordingId: string): Promise<string> =>
      inTurn(organizationId, () => store.readUtterancesAsJson(reads, organizationId, recordingId)),

    /**
     * The transcript in stored order; empty if there is none. The caller has checked that the viewer may see the
     * recording.
     */
    async read(
      organizationId: string,
      recordingId: string,
      type: TranscriptType,
    ): Promise<readonly Utterance[]> {
      return inTurn(organizationId, async () => {
        const utterances = await store.readUtterances(reads, organizationId, recordingId)
        return type === 'monologue' ? toMonologues(utterances) : utterances
      })
    },
  }
}

/** Stores the transcript of a recording that has none, in the transaction that locks or creates the recording. */
export function writeTranscript(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  utterances: readonly Utterance[],
): Promise<void> {
  return writeColumns(tx, organizationId, recordingId, columnsOf(utterances))
}

/** Like `writeTranscript`, for a transcript that is prepared already. */
export function writeColumns(
  tx: Tx,
  organizationId: string,
  recordingId: string,
  columns: TranscriptColumns,
): Promise<void> {
  return store.writeUtterances(tx, organizationId, recordingId, columns)
}

/** The transcript as the caller's transaction sees it, in stored order; empty if there is none. */
export function readTranscript(
  tx: Tx,
  organizationId: string,
  recordingId: string,
): Promise<readonly Utterance[]> {
  return store.readUtterances(tx, organizationId, recordingId)
}

/** Deletes the transcript and its search index, in the transaction that locks the recording. */
export async function deleteTranscript(tx: Tx, organizationId: string, recordingId: string): Promise<void> {
  await Promise.all([
    store.deleteTranscript(tx, organizationId, recordingId),
    forgetFindings(tx, organizationId, recordingId),
  ])
}

/**
 * Parts of a statement on a recording `r`: those in which every term of `text` occurs, in the transcript or in the name.
 */
export function recordingsFound(query: Query, organizationId: string, text: string): search.Found {
  return search.recordingsFound(query, organizationId, text)
}
