/**
 * The only way to open a transaction.
 *
 * Inside the callback, await only SQL on the handle that the callback receives.
 *
 * `sql.begin` alone is not safe. If the connection dies while the callback waits, `begin` of `postgres` 3.4 rejects but the callback
 * continues. Its next statement runs on the next connection that the pool opens, inside another caller's transaction
 * (porsager/postgres issues 1186 and 1216). Here such a callback cannot send further statements and never settles, so the driver
 * cannot commit for it. The same applies to statements that are still pending when `work` ends, such as the rest of a failed
 * `Promise.all`. They would otherwise run after ROLLBACK, outside of a transaction.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql, Tx } from './pool.ts'
import { Revocation } from './revocation.ts'
import { isRetryable } from './sqlstate.ts'

const ATTEMPTS = 3

type Mode = '' | 'read only'

/** What a read-only transaction reads is of one moment, so statements that follow each other agree. It never fails for that. */
const BEGIN_OPTIONS: Readonly<Record<Mode, string>> = {
  '': '',
  'read only': 'isolation level repeatable read read only',
}

/**
 * Runs `work` in one transaction and commits it. Makes up to three attempts on a serialization failure (40001) or a deadlock (40P01),
 * so `work` must have no effect except its SQL. With `read only` the server refuses writes, and all statements see the same moment.
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
    const result = await sql.begin(BEGIN_OPTIONS[mode], async (tx) => {
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
