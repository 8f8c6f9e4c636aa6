/**
 * Migrations that build or drop indexes of tables that are in use.
 *
 * `create index` holds up every write to its table until the index is built, which takes minutes on a large one. `create index
 * concurrently` does not, but it cannot run in a transaction, it waits for every transaction that is older than itself, and it
 * leaves an invalid index behind when it is cut off. So:
 *
 * - Each statement runs by itself. A statement that was done before is skipped, so a migration that was cut off goes on where it was.
 * - An invalid index is dropped and built anew.
 * - Processes that start meanwhile wait outside of any transaction: the build would wait for theirs.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Query, Sql } from './pool.ts'

/** The first line of such a migration. */
export const CONCURRENTLY = '--! concurrently'

/** A lock of its own: processes that wait for the lock of other migrations do so in a transaction. */
const LOCK = 0x65_61_72_74
const POLL_MS = 200

const STATEMENT = /^(create index|drop index) concurrently (?:if (?:not )?exists )?(\w+)\b/

export interface IndexStep {
  readonly action: 'create index' | 'drop index'
  readonly index: string
  readonly statement: string
}

/** The statements of a migration. @throws Error where one is of another kind */
export function indexSteps(source: string): readonly IndexStep[] {
  const text = source.replaceAll(/--.*$/gm, '')
  const statements = text.split(';').map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
  return statements
    .filter((statement) => statement !== '')
    .map((statement) => {
      const [, action, index] = STATEMENT.exec(statement) ?? []
      if (action === undefined || index === undefined)
        throw new Error(`a migration that runs concurrently has another statement: ${statement}`)
      return { action: action as IndexStep['action'], index, statement }
    })
}

export interface IndexMigration {
  /** Whether another process has applied the migration meanwhile. */
  isDone(query: Query): Promise<boolean>
  /** Records the migration as applied. */
  finish(query: Query): Promise<void>
}

/**
 * Everything on one connection, which holds the lock. A failure leaves it locked, since the connection may be the one that was lost:
 * the caller then ends `sql`. @returns false where another process has done it meanwhile
 */
export async function runIndexMigration(
  sql: Sql,
  source: string,
  { isDone, finish }: IndexMigration,
): Promise<boolean> {
  const connection = await sql.reserve()
  try {
    while (!(await tryLock(connection))) {
      if (await isDone(connection)) return false
      await delay(POLL_MS)
    }
    const isMine = !(await isDone(connection))
    if (isMine) {
      for (const step of indexSteps(source)) await run(connection, step)
      await finish(connection)
    }
    await connection`select pg_advisory_unlock(${LOCK})`
    return isMine
  } finally {
    connection.release()
  }
}

async function tryLock(query: Query): Promise<boolean> {
  const [lock] = await query<{ locked: boolean }[]>`select pg_try_advisory_lock(${LOCK}) as locked`
  return lock?.locked === true
}

async function run(query: Query, { action, index, statement }: IndexStep): Promise<void> {
  const [found] = await query<{ valid: boolean }[]>`
    select indisvalid as valid
    from pg_index
    where indexrelid = to_regclass(${index})`
  if (action === 'drop index') {
    if (found !== undefined) await query.unsafe(statement).simple()
    return
  }
  if (found?.valid) return
  if (found !== undefined) await query.unsafe(`drop index concurrently if exists ${index}`).simple()
  await query.unsafe(statement).simple()
}
