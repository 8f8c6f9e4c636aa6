/**
 * Migrations that build or drop indexes of tables that are in use.
 *
 * `create index` blocks every write to its table until the index is built, which takes minutes on a large table. `create index
 * concurrently` does not block writes. But it cannot run in a transaction, it waits for every older transaction, and it leaves an
 * invalid index behind if it is interrupted. So:
 *
 * - Each statement runs by itself. Completed statements are skipped, so an interrupted migration resumes where it stopped.
 * - An invalid index is dropped and built again.
 * - Other processes that start meanwhile wait outside of a transaction, because the build would wait for their transactions.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Query, Sql } from './pool.ts'

/** The first line of such a migration. */
export const CONCURRENTLY = '--! concurrently'

/** Not the lock of other migrations, because processes wait for that lock inside a transaction. */
const LOCK = 0x65_61_72_74
const POLL_MS = 200

const STATEMENT = /^(create|drop) (?:unique )?index concurrently (?:if (?:not )?exists )?(\w+)\b/

export interface IndexStep {
  readonly action: 'create' | 'drop'
  readonly index: string
  readonly statement: string
}

/** The statements of a migration. @throws Error for a statement of another kind */
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
 * Runs everything on one connection, which holds the lock. After a failure the lock remains, because the connection may be lost. The
 * caller must then end `sql`. @returns false if another process has applied the migration meanwhile
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
  if (action === 'drop') {
    if (found !== undefined) await query.unsafe(statement).simple()
    return
  }
  if (found?.valid) return
  if (found !== undefined) await query.unsafe(`drop index concurrently if exists ${index}`).simple()
  await query.unsafe(statement).simple()
}
