/** Lets the caller of a use case add a statement to its transaction, such as the record of who caused a change. */
import type { Query, Sql } from './pool.ts'
import { transaction } from './transaction.ts'

/** Runs in the transaction of a use case, after its own statements. `result` is the result of the use case. */
export type Alongside<T = unknown> = (tx: Query, result: T) => Promise<void>

/** Runs `work`; with `also`, both in one transaction. */
export function together<T>(
  sql: Sql,
  also: Alongside<T> | undefined,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  if (also === undefined) return work(sql)
  return transaction(sql, async (tx) => {
    const result = await work(tx)
    await also(tx, result)
    return result
  })
}
