/** Erases a person from the names of files uploaded for recordings in which the person took part. */
import { overRecordings } from '../people/erasure.ts'
import { readFileNames, writeFileNames } from './erasure.store.ts'

export const fileNameErasure = overRecordings('file_names', async (tx, person, ids) => {
  const rows = await readFileNames(tx, person.organizationId, ids)
  const changed = rows.flatMap(({ id, fileName }) => {
    const erased = person.eraser.text(fileName)
    return erased === fileName ? [] : [{ id, fileName: erased }]
  })
  await writeFileNames(tx, person.organizationId, changed)
  return { fileNames: changed.length }
})
