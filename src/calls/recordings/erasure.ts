/** Erases a person from the names, the summaries and the speakers of the recordings in which the person took part. */
import { overRecordings } from '../../people/erasure.ts'
import { readSpeakers, readTexts, writeSpeakers, writeTexts } from './erasure.store.ts'

export const recordingErasure = overRecordings('recordings', async (tx, person, ids) => {
  const rows = await readTexts(tx, person.organizationId, person.requestedAt, ids)
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

/** Speakers of meetings of whom only the name is known. */
export const speakerErasure = overRecordings('speakers', async (tx, person, ids) => {
  const rows = await readSpeakers(tx, person.organizationId, ids)
  const changed = rows.flatMap((row) => {
    const name = person.eraser.value(row.name)
    return name === row.name ? [] : [{ ...row, name }]
  })
  await writeSpeakers(tx, person.organizationId, changed)
  return { participations: changed.length }
})
