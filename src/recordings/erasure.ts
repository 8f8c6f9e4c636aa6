/** Erases a person from the names and summaries of the recordings in which the person took part. */
import { overRecordings } from '../people/erasure.ts'
import { readTexts, writeTexts } from './erasure.store.ts'

export const recordingErasure = overRecordings('recordings', async (tx, person, ids) => {
  const rows = await readTexts(tx, person.organizationId, ids)
  const changed = rows.flatMap((row) => {
    const displayName = person.eraser.value(row.displayName)
    const summary = person.eraser.value(row.summary)
    return displayName === row.displayName && summary === row.summary
      ? []
      : [{ ...row, displayName, summary }]
  })
  await writeTexts(tx, person.organizationId, changed)
  return { recordings: changed.length }
})
