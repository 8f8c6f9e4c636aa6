/**
 * Data changes that run in the background, because they take too long for a migration.
 *
 * A migration adds the column or table. The code then writes both the old and the new form, and a data change converts the
 * existing rows in small transactions. Each transaction also stores the position, so a change that was interrupted continues
 * behind the last committed row and changes no row twice. One process at a time works on a change; if it dies, another
 * takes over when its lease has expired. Pauses keep most of the database's time free for requests.
 *
 * Older processes may go on writing the old form behind the position. So readers accept both forms until no older process
 * runs, and a change that must convert these rows as well runs again under another name.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Query, Sql, Tx } from './pool.ts'
import { transaction } from './transaction.ts'

/** Rows of a table whose primary key is one column. */
interface ChangedTable {
  /** Stable: the progress is stored under this name. */
  readonly name: string
  readonly table: string
  readonly key: string
  /** Rows of one step. A step should lock its rows for less than 100 ms. */
  readonly rowsPerStep: number
}

/** Changes the rows of `table` whose key is in `keys`. The next step starts after they are committed. */
type ChangeRows = (tx: Tx, keys: readonly string[]) => Promise<void>

export interface DataChange extends ChangedTable {
  readonly change: ChangeRows
}

/** A change that needs more than SQL, such as work of another process. */
export interface ComputedChange extends ChangedTable {
  /** Outside of any transaction, so nobody waits for a row. @returns what changes the rows, which may be others by then */
  compute(sql: Sql, keys: readonly string[]): Promise<ChangeRows>
}

export interface DataChangeOptions {
  /** Identifies this process. */
  readonly runner: string
  /** Aborted when the process stops. The step in progress is finished. */
  readonly stopping: AbortSignal
  /** Time until another process takes over from one that died. */
  readonly leaseMs?: number
  /** Length of the pause after a step, as a multiple of the step's own time. */
  readonly pauseRatio?: number
}

const LEASE_MS = 60_000
const PAUSE_RATIO = 3

/** `finished`: no row is left. `leased`: another process works on it. `stopped`: `stopping` was aborted. */
export type DataChangeOutcome = 'finished' | 'leased' | 'stopped'

/** Runs a change until it is finished or the process stops. Call it regularly; it resumes by itself. */
export async function runDataChange(
  sql: Sql,
  change: DataChange | ComputedChange,
  { runner, stopping, leaseMs = LEASE_MS, pauseRatio = PAUSE_RATIO }: DataChangeOptions,
): Promise<DataChangeOutcome> {
  await register(sql, change)
  if (await isFinished(sql, change.name)) return 'finished'
  while (!stopping.aborted) {
    const startedAt = performance.now()
    const state = await step(sql, change, { runner, leaseMs })
    if (state !== 'changed') return state
    const pauseMs = (performance.now() - startedAt) * pauseRatio
    await delay(pauseMs, undefined, { signal: stopping }).catch(() => {})
  }
  await release(sql, change.name, runner)
  return 'stopped'
}

export interface DataChangeProgress {
  readonly name: string
  readonly rowsDone: number
  /** An estimate. */
  readonly rowsTotal: number
}

/** Changes that are not finished. */
export function unfinishedDataChanges(query: Query): Promise<readonly DataChangeProgress[]> {
  return query<DataChangeProgress[]>`
    select name, rows_done as "rowsDone", rows_total as "rowsTotal"
    from data_change
    where finished_at is null
    order by started_at, name`
}

/** @returns false also if the change has not begun */
export async function isFinished(sql: Query, name: string): Promise<boolean> {
  const rows = await sql`select 1 from data_change where name = ${name} and finished_at is not null`
  return rows.length > 0
}

async function register(sql: Sql, { name, table }: ChangedTable): Promise<void> {
  await sql`
    insert into data_change (name, rows_total)
    select ${name}, greatest(reltuples, 0)::bigint
    from pg_class
    where oid = to_regclass(${table})
    on conflict (name) do nothing`
}

type State = 'changed' | 'finished' | 'leased'

interface Runner {
  readonly runner: string
  readonly leaseMs: number
}

/** Claims the change, changes the next rows, and stores the position. */
async function step(sql: Sql, change: DataChange | ComputedChange, as: Runner): Promise<State> {
  const { rowsPerStep } = change
  if ('change' in change)
    return claim(sql, change, as, async (tx, position) => {
      const keys = await nextKeys(tx, change, position, { isLocking: true })
      if (keys.length > 0) await change.change(tx, keys)
      return { rows: keys.length, last: keys.at(-1), isLast: keys.length < rowsPerStep }
    })
  let seen: { readonly position: string | null; readonly keys: readonly string[] } | undefined
  const state = await claim(sql, change, as, async (tx, position) => {
    seen = { position, keys: await nextKeys(tx, change, position, { isLocking: false }) }
    return { rows: 0, last: undefined, isLast: seen.keys.length === 0 }
  })
  if (seen === undefined || seen.keys.length === 0) return state
  const { position: start, keys: known } = seen
  const changeRows = await change.compute(sql, known)
  return claim(sql, change, as, async (tx, position) => {
    // Another process took over, and went on.
    if (position !== start) return { rows: 0, last: undefined, isLast: false }
    const keys = await nextKeys(tx, change, position, { isLocking: true, through: known.at(-1) })
    if (keys.length > 0) await changeRows(tx, keys)
    // Rows may have come between the known ones, or gone.
    const last = keys.length < rowsPerStep ? known.at(-1) : keys.at(-1)
    return { rows: keys.length, last, isLast: known.length < rowsPerStep && keys.length < rowsPerStep }
  })
}

interface Changed {
  readonly rows: number
  /** Key of the last row that needs no look any more; undefined: the position stays. */
  readonly last: string | undefined
  readonly isLast: boolean
}

/** One transaction that holds the change. */
function claim(
  sql: Sql,
  { name }: ChangedTable,
  { runner, leaseMs }: Runner,
  work: (tx: Tx, position: string | null) => Promise<Changed>,
): Promise<State> {
  return transaction(sql, async (tx) => {
    const [claimed] = await tx<{ position: string | null; isFinished: boolean }[]>`
      select position, finished_at is not null as "isFinished"
      from data_change
      where name = ${name} and (runner = ${runner} or leased_until is null or leased_until < now())
      for update skip locked`
    if (claimed === undefined) return 'leased'
    if (claimed.isFinished) return 'finished'
    const { rows, last, isLast } = await work(tx, claimed.position)
    await tx`
      update data_change
      set position = coalesce(${last ?? null}, position),
        rows_done = rows_done + ${rows},
        runner = ${runner},
        leased_until = case when not ${isLast}::bool then now() + ${leaseMs}::float8 * interval '1 millisecond' end,
        finished_at = case when ${isLast}::bool then now() end
      where name = ${name}`
    return isLast ? 'finished' : 'changed'
  })
}

/** Locks the rows, unless they are only looked at. */
async function nextKeys(
  tx: Tx,
  { table, key, rowsPerStep }: ChangedTable,
  position: string | null,
  { isLocking, through }: { readonly isLocking: boolean; readonly through?: string | undefined },
): Promise<readonly string[]> {
  const rows = await tx<{ key: string }[]>`
    select ${tx(key)}::text as key
    from ${tx(table)}
    where true
      ${position === null ? tx`` : tx`and ${tx(key)} > ${position}`}
      ${through === undefined ? tx`` : tx`and ${tx(key)} <= ${through}`}
    order by ${tx(table)}.${tx(key)}
    limit ${rowsPerStep}
    ${isLocking ? tx`for no key update` : tx``}`
  return rows.map((row) => row.key)
}

async function release(sql: Sql, name: string, runner: string): Promise<void> {
  await sql`
    update data_change
    set leased_until = null
    where name = ${name} and runner = ${runner} and finished_at is null`
}
