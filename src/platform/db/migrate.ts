/**
 * Forward-only migrations, compiled in.
 *
 * A released migration is never edited: its checksum is stored and compared. Migrations run in the order of their numbers under an
 * advisory lock, so several processes may start at once. The first line of a file may change how it runs:
 *
 * - `--! breaking`: older code refuses to start on the newer schema.
 * - `--! concurrently`: the file builds or drops indexes of tables that are in use, outside of a transaction and without blocking
 *   writes (see `migrate-indexes.ts`).
 *
 * Consecutive pending migrations of any other kind run in one transaction.
 */
import { AppError } from '../errors.ts'
import { StartError } from '../lifecycle/start-error.ts'
import { CONCURRENTLY, runIndexMigration } from './migrate-indexes.ts'
import type { Query, Sql } from './pool.ts'
import { transaction } from './transaction.ts'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly source: string
}

/** An arbitrary constant that no other user of the database is likely to lock. */
const LOCK = 0x65_61_72_73

interface Applied {
  readonly number: number
  readonly name: string
  readonly checksum: string
  readonly breaking: boolean
}

/**
 * Brings the schema up to the newest of `migrations`.
 * @returns the numbers of the migrations that this call applied
 * @throws StartError if a released migration was edited, or the schema is newer and breaking
 */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<readonly number[]> {
  const done: number[] = []
  while (!(await isCurrent(sql, migrations))) {
    done.push(...(await applyInTransaction(sql, migrations)))
    const next = (await pendingOf(sql, migrations))[0]
    // Another process may have applied it meanwhile, or the next one runs in a transaction again.
    if (next === undefined || !isConcurrent(next)) continue
    const isDone = async (query: Query) => (await pendingOf(query, migrations))[0]?.number !== next.number
    if (await runIndexMigration(sql, next.source, { isDone, finish: (query) => record(query, next) }))
      done.push(next.number)
  }
  return done
}

/** Applies the pending migrations before the next one that cannot run in a transaction. @returns their numbers */
function applyInTransaction(sql: Sql, migrations: readonly Migration[]): Promise<readonly number[]> {
  return transaction(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`
    await tx`
      create table if not exists schema_migration (
        number int primary key,
        name text not null,
        checksum text not null,
        breaking boolean not null,
        applied_at timestamptz not null default now()
      )`
    const pending = await pendingOf(tx, migrations)
    const end = pending.findIndex(isConcurrent)
    const batch = end === -1 ? pending : pending.slice(0, end)
    for (const migration of batch) {
      await record(tx, migration)
      await tx.unsafe(migration.source).simple()
    }
    return batch.map(({ number }) => number)
  })
}

/** In the order of their numbers. The table `schema_migration` must exist. @throws StartError as `migrate` */
async function pendingOf(query: Query, migrations: readonly Migration[]): Promise<readonly Migration[]> {
  const applied = await query<Applied[]>`
    select number, name, checksum, breaking
    from schema_migration
    order by number`
  verify(applied, migrations)
  const done = new Set(applied.map(({ number }) => number))
  return migrations.filter(({ number }) => !done.has(number)).toSorted((a, b) => a.number - b.number)
}

async function record(query: Query, migration: Migration): Promise<void> {
  const { number, name } = migration
  await query`
    insert into schema_migration (number, name, checksum, breaking)
    values (${number}, ${name}, ${checksum(migration)}, ${isBreaking(migration)})`
}

/** A cheap check, so that an ordinary start takes no lock and opens no transaction. */
async function isCurrent(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const [exists] = await sql<
    { present: boolean }[]
  >`select to_regclass('schema_migration') is not null as present`
  if (!exists?.present) return false
  return (await pendingOf(sql, migrations)).length === 0
}

function verify(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  for (const row of applied) {
    const migration = known.get(row.number)
    if (migration === undefined && row.breaking) {
      throw new StartError(
        `The database has migration ${row.number} (${row.name}). This older version does not work with it`,
      )
    }
    if (migration !== undefined && checksum(migration) !== row.checksum) {
      throw new StartError(
        `Migration ${row.number} (${row.name}) was changed after it was applied to this database`,
      )
    }
  }
}

function checksum(migration: Migration): string {
  return new Bun.CryptoHasher('sha256').update(migration.source).digest('hex')
}

function isBreaking(migration: Migration): boolean {
  return migration.source.startsWith('--! breaking')
}

function isConcurrent(migration: Migration): boolean {
  return migration.source.startsWith(CONCURRENTLY)
}

/** For `/ready`. @throws AppError 503 `unavailable` unless every compiled-in migration is applied */
export async function assertMigrated(sql: Sql, migrations: readonly Migration[]): Promise<void> {
  if (!(await isCurrent(sql, migrations)))
    throw new AppError('unavailable', 'The database schema is not up to date. Run earshot migrate first.')
}
