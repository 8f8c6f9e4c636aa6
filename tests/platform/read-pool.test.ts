/** The pool for reads: it cannot write, and a short read never waits behind a long one. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Sql } from '../../src/platform/db/pool.ts'
import { transaction } from '../../src/platform/db/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { waitUntilBlockedBy } from '../support/mailboxes.ts'

let database: TestDatabase
let reads: Sql
beforeAll(async () => {
  database = await createTestDatabase()
  reads = connect({ url: database.url }, { max: 2, applicationName: 'reads', readOnly: true })
})
afterAll(async () => {
  await reads?.end({ timeout: 5 })
  await database?.drop()
})

test('a writing statement is refused', async () => {
  await expect(Promise.resolve(reads`insert into worker (id) values ('somebody')`)).rejects.toMatchObject({
    code: '25006',
  })
})

test('short reads run in order of arrival during a long read', async () => {
  await Promise.all([reads`select 1`, reads`select 1`])
  let long: Promise<unknown> = Promise.resolve()
  await transaction(database.sql, async (tx) => {
    const [holder] = await tx<{ pid: number }[]>`
      select pg_backend_pid() as pid, pg_advisory_xact_lock(1)`
    let isLongOver = false
    long = reads`select pg_advisory_lock_shared(1), pg_advisory_unlock_shared(1)`.then(() => {
      isLongOver = true
    })
    await waitUntilBlockedBy(database.sql, holder?.pid ?? 0)
    const order: number[] = []
    await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        await reads`select ${index}::int`
        order.push(index)
      }),
    )
    expect(order).toEqual(Array.from({ length: 20 }, (_, index) => index))
    expect(isLongOver).toBe(false)
  })
  await long
})
