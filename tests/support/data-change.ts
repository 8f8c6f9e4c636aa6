/** A data change that counts in `times` how often it changed each row. */
import type { DataChange } from '../../src/platform/db/data-change.ts'

export const doubling: DataChange = {
  name: 'thing_size',
  table: 'thing',
  key: 'id',
  rowsPerStep: 50,
  async change(tx, keys) {
    await tx`
      update thing
      set new_size = 2 * size, times = times + 1
      where id = any(${keys as string[]}::text[]::int[])`
  },
}
