/**
 * The SQL that adds changes to the folded counts of use.
 *
 * A fold takes changes away and adds their sums in one statement, so it is done wholly or not at all, and a reader never sees a change twice
 * or not at all. One transaction folds at a time. Writers of changes never wait for it.
 */
import type { Tx } from '../../platform/db/pool.ts'

const LOCK = 'earshot fold usage'

/** Until the transaction ends. @returns false if another transaction folds */
export async function lockFold(tx: Tx): Promise<boolean> {
  const [row] = await tx<{ mayFold: boolean }[]>`
    select coalesce(pg_try_advisory_xact_lock(hashtextextended(${LOCK}, 0)), false) as "mayFold"`
  return row?.mayFold === true
}

/** Folds up to `limit` changes. Changes of an organization that is gone are dropped. @returns the number of changes taken */
export async function foldChanges(tx: Tx, limit: number): Promise<number> {
  const [row] = await tx<{ taken: number }[]>`
    with taken as (
      delete from usage_change
      where ctid = any(array(select ctid from usage_change limit ${limit} for update skip locked))
      returning organization_id, metric, application_id, hour, change
    ), folded as (
      insert into usage_count as c (organization_id, metric, application_id, hour, count)
      select t.organization_id, t.metric, t.application_id, t.hour, sum(t.change)
      from taken t
      join organization o on o.id = t.organization_id
      group by 1, 2, 3, 4
      on conflict (organization_id, metric, application_id, hour) do update set count = c.count + excluded.count
    )
    select count(*)::int as taken from taken`
  return row?.taken ?? 0
}
