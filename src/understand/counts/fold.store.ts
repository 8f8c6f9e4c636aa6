/**
 * The SQL that adds changes to the folded counts.
 *
 * A fold takes changes away and adds their sums in one statement, so it is done wholly or not at all, and a reader never sees a change twice
 * or not at all. One transaction folds at a time. Writers of changes never wait for it.
 */
import type { Tx } from '../../platform/db/pool.ts'
import { WITH_AREA, WITH_VERSION } from './counts.rules.ts'

const LOCK = 'earshot fold counts'

/** Until the transaction ends. @returns false if another transaction folds */
export async function lockFold(tx: Tx): Promise<boolean> {
  const [row] = await tx<{ isLocked: boolean }[]>`
    select coalesce(pg_try_advisory_xact_lock(hashtextextended(${LOCK}, 0)), false) as "isLocked"`
  return row?.isLocked === true
}

/** Folds up to `limit` changes. Changes of an organization that is gone are dropped. @returns the number of changes taken */
export async function foldChanges(tx: Tx, limit: number): Promise<number> {
  const [row] = await tx<{ taken: number }[]>`
    with taken as (
      delete from insight_count_change
      where ctid = any(array(select ctid from insight_count_change limit ${limit} for update skip locked))
      returning
        organization_id, metric, day, channel, application_id, source, kind, rating, status, product_area, agent_version, change
    ), changes as (
      select
        t.organization_id, t.metric, t.day, l.level, t.channel, t.application_id, t.source, t.kind, t.rating, t.status,
        case when l.level & ${WITH_AREA}::int <> 0 then t.product_area end as product_area,
        case when l.level & ${WITH_VERSION}::int <> 0 then t.agent_version end as agent_version,
        sum(t.change)::int as change
      from taken t
      join organization o on o.id = t.organization_id
      cross join generate_series(0, ${WITH_AREA + WITH_VERSION}::int) as l (level)
      group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
      having sum(t.change) <> 0
    ), keyed as (
      select
        c.*,
        md5(row(c.channel, c.application_id, c.source, c.kind, c.rating, c.status, c.product_area, c.agent_version)::text)::uuid as key
      from changes c
    ), added as (
      insert into insight_dimension (
        organization_id, key, channel, application_id, source, kind, rating, status, product_area, agent_version
      )
      select distinct
        k.organization_id, k.key, k.channel, k.application_id, k.source, k.kind, k.rating, k.status, k.product_area, k.agent_version
      from keyed k
      where not exists (
        select from insight_dimension d where d.organization_id = k.organization_id and d.key = k.key
      )
      returning organization_id, key, id
    ), known as (
      select organization_id, key, id from added
      union all
      select d.organization_id, d.key, d.id
      from (select distinct organization_id, key from keyed) k
      join insight_dimension d using (organization_id, key)
    ), stored as (
      insert into insight_count (organization_id, metric, level, day, dimension_id, count)
      select k.organization_id, k.metric, k.level, k.day, n.id, k.change
      from keyed k
      join known n using (organization_id, key)
      on conflict (organization_id, metric, level, day, dimension_id)
      do update set count = insight_count.count + excluded.count
    )
    select count(*)::int as taken from taken`
  return row?.taken ?? 0
}

/** Removes counts that have become zero. The lock of the fold is held. */
export async function deleteZeros(tx: Tx, limit: number): Promise<void> {
  await tx`
    delete from insight_count
    where ctid = any(array(select ctid from insight_count where count = 0 limit ${limit}))`
}
