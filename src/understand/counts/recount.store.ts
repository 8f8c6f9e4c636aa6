/** The SQL that moves rows to the days of another time zone (migration 0132). The triggers that count see each of these changes. */
import type { Query, Tx } from '../../platform/db/pool.ts'

/** Each table that is counted, and the time by which its rows are read. */
const TABLES = [
  { table: 'agent_session', time: 'created_at' },
  { table: 'recording', time: 'created_at' },
  { table: 'feedback_record', time: 'display_ts' },
  { table: 'insight_subject', time: 'occurred_at' },
  { table: 'agent_signal', time: 'occurred_at' },
] as const

/** Organizations whose rows are still to move, the one that waits longest first. */
export async function recountedOrganizations(sql: Query, limit: number): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    select organization_id as id from day_recount order by changed_at limit ${limit}`
  return rows.map(({ id }) => id)
}

export interface Recount {
  /** Transactions that may know the former time zone; null: not looked yet. */
  readonly waitsFor: readonly string[] | null
  /** The table; behind the last one nothing is left. */
  readonly part: number
  /** Time and id of the last row of the table that was looked at; null: none yet. */
  readonly position: readonly [time: string, id: string] | null
  /** The change was more than ten minutes ago. */
  readonly isOld: boolean
}

/** Locks it until the transaction ends. @returns null if nothing is left, or another process works on it */
export async function lockRecount(tx: Tx, organizationId: string): Promise<Recount | null> {
  const [row] = await tx<Recount[]>`
    select waits_for as "waitsFor", part::int, position, changed_at < clock_timestamp() - interval '10 minutes' as "isOld"
    from day_recount
    where organization_id = ${organizationId}
    for update skip locked`
  return row ?? null
}

export async function saveRecount(
  tx: Tx,
  organizationId: string,
  { waitsFor, part, position }: Omit<Recount, 'isOld'>,
): Promise<void> {
  if (part >= TABLES.length) await tx`delete from day_recount where organization_id = ${organizationId}`
  else
    await tx`
      update day_recount
      set waits_for = ${waitsFor as string[] | null}::text[], part = ${part}, position = ${position as string[] | null}::text[]
      where organization_id = ${organizationId}`
}

/** Moves the next rows of a table. @returns where they end; null if the table has no more */
export async function moveRows(
  tx: Tx,
  organizationId: string,
  { part, position }: Pick<Recount, 'part' | 'position'>,
  limit: number,
): Promise<Recount['position']> {
  const { table, time } = TABLES[part] ?? TABLES[0]
  // The moment whose day counts.
  const said = time === 'created_at' ? tx`coalesce(t.started_at, t.created_at)` : tx`t.${tx(time)}`
  const behind =
    position === null
      ? tx``
      : tx`and (t.${tx(time)}, t.id) > (${position[0]}::text::timestamptz, ${position[1]})`
  const [last] = await tx<{ time: string; id: string; count: number }[]>`
    with page as (
      select t.id, t.${tx(time)} as time
      from ${tx(table)} t
      where t.organization_id = ${organizationId} ${behind}
      order by t.${tx(time)}, t.id
      limit ${limit}
    ), locked as (
      -- A row that moves in time while it is awaited does not move the position.
      select t.id
      from ${tx(table)} t
      where t.organization_id = ${organizationId} and t.id in (select p.id from page p)
      order by t.id
      for no key update
    ), moved as (
      update ${tx(table)} t
      set counted_day = counted_day(t.organization_id, ${said})
      from locked l
      where t.organization_id = ${organizationId}
        and t.id = l.id
        and t.counted_day is distinct from counted_day(t.organization_id, ${said})
    )
    select p.time::text as time, p.id::text as id, (count(*) over ())::int as count
    from page p
    order by p.time desc, p.id desc
    limit 1`
  return last === undefined || last.count < limit ? null : [last.time, last.id]
}
