/** Keeps people searchable whose names other features write. */
import type { MaintenanceTask } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { transaction } from '../platform/db/transaction.ts'
import { personWords } from './search.rules.ts'
import { lockUnsearched, setSearchWords } from './search.store.ts'

const BATCH = 500

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
