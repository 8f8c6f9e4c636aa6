/**
 * Forward-only migrations, compiled in.
 *
 * The rule: a migration that has been released is never edited (its checksum is stored and compared). All pending
 * migrations run in one transaction under an advisory lock, so ten processes may start at once. A migration whose
 * first line is `--! breaking` makes older code refuse to start on the newer schema.
 */
import { AppError } from '../errors.ts'
import { StartError } from '../start-error.ts'
import type { Sql } from './pool.ts'
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
 * @returns the numbers that were applied now; empty where nothing was pending.
 * @throws StartError where a released migration was edited or the schema is newer and breaking.
 */
export async function migrate(sql: Sql, migrations: readonly Migration[]): Promise<readonly number[]> {
  if (await isCurrent(sql, migrations)) return []
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
    const applied = await tx<
      Applied[]
    >`select number, name, checksum, breaking from schema_migration order by number`
    verify(applied, migrations)
    const done = new Set(applied.map((row) => row.number))
    const pending = migrations.filter((migration) => !done.has(migration.number))
    for (const migration of pending) {
      await tx`
        insert into schema_migration (number, name, checksum, breaking)
        values (${migration.number}, ${migration.name}, ${checksum(migration)}, ${isBreaking(migration)})`
      await tx.unsafe(migration.source).simple()
    }
    return pending.map((migration) => migration.number)
  })
}

/** One cheap read, so that an ordinary start takes no lock and opens no transaction. */
async function isCurrent(sql: Sql, migrations: readonly Migration[]): Promise<boolean> {
  const [exists] = await sql<
    { present: boolean }[]
  >`select to_regclass('schema_migration') is not null as present`
  if (!exists?.present) return false
  const applied = await sql<
    Applied[]
  >`select number, name, checksum, breaking from schema_migration order by number`
  verify(applied, migrations)
  const done = new Set(applied.map((row) => row.number))
  return migrations.every((migration) => done.has(migration.number))
}

function verify(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const known = new Map(migrations.map((migration) => [migration.number, migration]))
  for (const row of applied) {
    const migration = known.get(row.number)
    if (migration === undefined && row.breaking) {
      throw new StartError(
        `The database has migration ${row.number} (${row.name}), which this older version cannot work with`,
      )
    }
    if (migration !== undefined && checksum(migration) !== row.checksum) {
      throw new StartError(
        `Migration ${row.number} (${row.name}) was changed after it had been applied to this database`,
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

/** True where every compiled-in migration has been applied: what `/ready` asks. */
export async function assertMigrated(sql: Sql, migrations: readonly Migration[]): Promise<void> {
  if (!(await isCurrent(sql, migrations)))
    throw new AppError('unavailable', 'The database schema is not up to date.')
}
