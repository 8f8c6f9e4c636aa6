/** The SQL of the search for any of the words. */
import type { Query } from '../../platform/db/pool.ts'
import { MAX_COUNTED, type Unit, type Weighted } from './any.rules.ts'

/** How many passages of the organization have each unit, with its mark; no more than `MAX_COUNTED`. */
export async function countPassages(
  tx: Query,
  organizationId: string,
  units: readonly Unit[],
): Promise<readonly number[]> {
  const rows = await tx<{ n: number; passages: number }[]>`
    select u.n::int, counted.passages::int
    from unnest(
      ${units.map(({ configuration }) => configuration)}::text[],
      ${units.map(({ query }) => query)}::text[]
    ) with ordinality as u (configuration, query, n)
    cross join lateral (
      select count(*) as passages
      from (
        select 1
        from search_passage p
        where p.document @@ u.query::tsquery
          and (p.organization_id = ${organizationId}) is true
          and p.configuration = u.configuration
        limit ${MAX_COUNTED}
      ) found
    ) counted
    order by u.n`
  return rows.map(({ passages }) => passages)
}

/** How well a passage `p` fits, from 0. `units`: those of the table `unit`; null: the passage has all of the words. */
export const relevance = (tx: Query, query: string, units: readonly Weighted[] | null) =>
  units === null
    ? tx`ts_rank_cd(p.document, ${query}::text::tsquery, 1)::float8`
    : tx`
        (select coalesce(sum(u.weight), 0) from unit u where u.configuration = p.configuration and p.document @@ u.query)`
