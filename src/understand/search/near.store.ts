/** The SQL of the search by meaning. */
import type { Query } from '../../platform/db/pool.ts'

/** Of one cell, the newest. */
const OF_CELL = 2_000

/**
 * The passages of the organization in these cells with their vectors, at most so many. The cells are read one after the other, the nearest first:
 * an order by their place would read all of them.
 */
export const candidatesOf = (
  tx: Query,
  organizationId: string,
  cells: readonly number[],
  limit: number,
) => tx<{ id: number; vector: Uint8Array }[]>`
  select v.passage_id as id, v.vector
  from unnest(${cells as number[]}::smallint[]) as c (cell)
  cross join lateral (
    select passage_id, vector
    from search_vector
    where organization_id = ${organizationId} and cell = c.cell
    order by passage_id desc
    limit ${OF_CELL}
  ) v
  limit ${limit}`
