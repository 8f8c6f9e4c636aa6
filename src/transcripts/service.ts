/**
 * Transcripts for the features around them: judged, written in the caller's transaction, read, searched.
 *
 * A transcript has no visibility of its own: whoever sees the recording sees it, and asks about the recording first.
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
    /** What there is of a recording that the caller has been found to see, in stored order; nothing where there is none yet. */
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
