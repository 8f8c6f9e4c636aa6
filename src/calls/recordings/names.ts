/** Computes the words by which recordings are found by name, where an earlier version stored the name. */
import type { DataChange } from '../../platform/db/data-change.ts'
import { fillNameWords } from './names.store.ts'

export const recordingNamesChange: DataChange = {
  name: 'words_of_recording_names',
  table: 'recording',
  key: 'id',
  rowsPerStep: 200,
  change: (tx, keys) => fillNameWords(tx, keys),
}
