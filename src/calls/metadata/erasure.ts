/** Erases a person from the metadata values of the recordings that the person took part in. */
import { overRecordings } from '../../people/erasure.ts'
import { keepRecordings } from '../transcripts/status.ts'
import { readValues, writeValues } from './erasure.store.ts'

export const valueErasure = overRecordings('metadata_values', async (tx, person, ids) => {
  // A change of a recording reads all values and writes them again, under the lock of the recording.
  await keepRecordings(tx, person.organizationId, ids)
  const rows = await readValues(tx, person.organizationId, person.requestedAt, ids)
  const changed = rows.flatMap((row) => {
    const value = person.eraser.value(row.value)
    return value === row.value ? [] : [{ ...row, value }]
  })
  await writeValues(tx, person.organizationId, changed)
  return { values: changed.length }
})
