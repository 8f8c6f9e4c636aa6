/**
 * Erases a person from the names of files: media of recordings in which the person took part, and all files that are no media, such as those
 * of imports.
 */
import { type ErasedPerson, type ErasureReach, overRecordings } from '../../people/erasure.ts'
import type { Tx } from '../../platform/db/pool.ts'
import { type FileName, readFileNames, readOtherFileNames, writeFileNames } from './erasure.store.ts'

export const fileNameErasure = overRecordings('file_names', async (tx, person, ids) => {
  const rows = await readFileNames(tx, person.organizationId, person.requestedAt, ids)
  return { fileNames: await eraseNames(tx, person, rows) }
})

/** Files of one step. */
const FILES = 1_000
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

export const otherFileNameErasure: ErasureReach = {
  name: 'other_file_names',
  async step(tx, person, from) {
    const { organizationId, requestedAt } = person
    const after = typeof from === 'string' ? from : BEFORE_ALL_IDS
    const rows = await readOtherFileNames(tx, organizationId, requestedAt, after, FILES)
    const fileNames = await eraseNames(tx, person, rows)
    return { next: rows.length < FILES ? null : (rows.at(-1)?.id ?? null), counts: { fileNames } }
  },
}

async function eraseNames(
  tx: Tx,
  { organizationId, eraser }: ErasedPerson,
  rows: readonly FileName[],
): Promise<number> {
  const changed = rows.flatMap(({ id, fileName }) => {
    const erased = eraser.text(fileName)
    return erased === fileName ? [] : [{ id, fileName: erased }]
  })
  await writeFileNames(tx, organizationId, changed)
  return changed.length
}
