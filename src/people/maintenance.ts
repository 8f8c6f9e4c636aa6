/** Keeps people searchable whose names other features write. */
import type { MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../kernel/deps.ts'
import type { DataChange } from '../platform/db/data-change.ts'
import { transaction } from '../platform/db/transaction.ts'
import { personWords } from './search.rules.ts'
import { listUnicodeDomains, lockUnsearched, setSearchWords } from './search.store.ts'

const BATCH = 500

/** People whose domain is not ASCII are found by its letters, too. */
export const unicodeDomainsChange: DataChange = {
  name: 'words_of_unicode_domains',
  table: 'person',
  key: 'id',
  rowsPerStep: BATCH,
  async change(tx, keys) {
    const rows = await listUnicodeDomains(tx, keys)
    const words = rows.map((row) => ({ ...row, words: personWords(row) }))
    if (rows.length > 0) await setSearchWords(tx, words)
  },
}

export const peopleMaintenance = ({ sql }: Pick<Deps, 'sql'>): readonly MaintenanceTask[] => [
  {
    name: 'people_search_words',
    everySeconds: 15,
    async run(stopping) {
      for (let filled = BATCH; filled === BATCH && !stopping.aborted; )
        filled = await transaction(sql, async (tx) => {
          const rows = await lockUnsearched(tx, BATCH)
          const words = rows.map((row) => ({ ...row, words: personWords(row) }))
          if (rows.length > 0) await setSearchWords(tx, words)
          return rows.length
        })
    },
  },
]
