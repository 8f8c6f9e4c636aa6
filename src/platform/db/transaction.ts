/**
 * The only way to open a transaction.
 *
 * The rule: inside the callback nothing is awaited but SQL on the handle that it is given.
 *
 * Why not `sql.begin` itself: when the connection dies while the callback waits, `begin` of `postgres` 3.4 rejects
 * but the callback goes on, and its next statement runs on whatever connection the pool opens next, inside another
 * caller's transaction (porsager/postgres issues 1186 and 1216). Here a dead callback is refused every further
 * statement and never settles, so the library cannot commit on its behalf. So is what `work` has begun and is not waiting
 * for any more when it ends, such as the rest of a `Promise.all` that has failed: behind ROLLBACK it would run by itself.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql, Tx } from './pool.ts'
import { Revocation } from './revocation.ts'
import { isRetryable } from './sqlstate.ts'

const ATTEMPTS = 3

/** What BEGIN says besides. */
type Mode = '' | 'read only'

/**
 * Runs `work` in one transaction and commits it. Retried up to three times on a serialization failure (40001) or a
 * deadlock (40P01), so `work` must have no effect but its SQL. In one that is `read only` the server refuses to write.
 */
export async function transaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>, mode: Mode = ''): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(sql, work, mode)
    } catch (error) {
      if (attempt >= ATTEMPTS || !isRetryable(error)) throw error
      await delay(Math.random() * 20 * attempt)
    }
  }
}

async function once<T>(sql: Sql, work: (tx: Tx) => Promise<T>, mode: Mode): Promise<T> {
  const revocation = new Revocation()
  try {
    const result = await sql.begin(mode, async (tx) => {
      try {
        return { value: await revocation.run(tx as Tx, work) }
      } finally {
        revocation.revoke(new Error('the transaction is over'))
      }
    })
    return (result as { value: T }).value
  } catch (reason) {
    revocation.revoke(reason)
    throw reason
  }
}
