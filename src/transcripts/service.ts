/**
 * Transcripts for other features: validate, write in the caller's transaction, read, search.
 *
 * A transcript has no visibility of its own. The caller checks the visibility of its recording first.
 */
import type { Query } from '../platform/db/pool.ts'
import type { TranscriptType, Utterance } from './model.ts'
import { toMonologues } from './monologue.rules.ts'
import { readUtterances } from './store.ts'

export type { Utterance } from './model.ts'
export { type Found, recordingsFound } from './search.store.ts'
export { deleteTranscript, readUtterances, writeUtterances } from './store.ts'

export type Transcripts = ReturnType<typeof createTranscripts>

export function createTranscripts({ reads }: { readonly reads: Query }) {
  return {
    /**
     * The transcript in stored order; empty if there is none. The caller has checked that the viewer may see the
     * recording.
     */
    async read(
      organizationId: string,
      recordingId: string,
      type: TranscriptType,
    ): Promise<readonly Utterance[]> {
      const utterances = await readUtterances(reads, organizationId, recordingId)
      return type === 'monologue' ? toMonologues(utterances) : utterances
    },
  }
}
