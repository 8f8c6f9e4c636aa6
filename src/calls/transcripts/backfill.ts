/** Indexes transcripts again that were indexed by former rules: a background change with progress in `earshot doctor`. */
import type { DataChange } from '../../platform/db/data-change.ts'
import { findIndexed, indexTranscript } from './search.store.ts'

export const transcriptWordsChange: DataChange = {
  name: 'words_of_transcripts',
  table: 'recording',
  key: 'id',
  rowsPerStep: 2,
  async change(tx, keys) {
    for (const { organizationId, recordingId } of await findIndexed(tx, keys))
      await indexTranscript(tx, organizationId, recordingId)
  },
}
