/**
 * Lists with a filter that no index has: a page looks at a bounded number of rows, however rare it is what the filter finds.
 *
 * The rule: rows are walked in the order of the list. Where a walk comes to its end before the page is full, the page is shorter, or
 * empty, and says where the next one goes on. So a request costs a bounded amount, and a caller that goes on sees everything.
 */
import type { PendingQuery, Row } from 'postgres'
import { AppError } from '../errors.ts'
import type { Moment } from './keyset.ts'
import type { Query } from './pool.ts'

type Fragment = PendingQuery<Row[]>

/** Rows that one request looks at, at most; the walks of several applications share them. */
export const WALK_ROWS = 10_000

/**
 * A page looks at a tenth more rows than it says. How far it came is asked after it, and rows may have been deleted in between: the
 * margin keeps those that followed from being passed over.
 */
export const marginOf = (sql: Query, rows: Fragment) => sql`${rows} * 11 / 10`

/** A place in a list, newest first. */
export type Place<M extends Moment = Moment> = readonly [moment: M, id: string]

export interface Walked<R, M extends Moment> {
  /** One row more than the limit, where there are so many. */
  readonly rows: readonly R[]
  /** Where the walk ended before the page was full; null where there was nothing left to look at, or the page is full. */
  readonly end: Place<M> | null
}

/** A page of rows that were found without a walk. */
export const wholly = <R>(rows: readonly R[]): Walked<R, never> => ({ rows, end: null })

export interface Walk<R, M extends Moment> {
  readonly limit: number
  /** Rows of the page and one more, out of `WALK_ROWS` with their margin. */
  page(): Promise<readonly R[]>
  /** The place of the row behind `WALK_ROWS`; null where there are no more. */
  end(): Promise<Place<M> | null>
  placeOf(row: R): Place<M>
}

/** Asks for the end of the walk only where the page did not get full. */
export async function walk<R, M extends Moment>({
  limit,
  page,
  end,
  placeOf,
}: Walk<R, M>): Promise<Walked<R, M>> {
  const rows = await page()
  if (rows.length > limit) return wholly(rows)
  const last = await end()
  return { rows: last === null ? rows : rows.filter((row) => !isBehind(placeOf(row), last)), end: last }
}

/** Moments of a list are all numbers, or all texts of one length, which sort as the moments do. */
const isBehind = ([moment, id]: Place, [lastMoment, lastId]: Place) =>
  moment < lastMoment || (moment === lastMoment && id < lastId)

/** For a page that is empty although the list goes on: its rows were too far from the start to be counted. @throws AppError 400 where it is not the first page */
export function assertReached({ offset }: { readonly offset: number }): void {
  if (offset > 0)
    throw new AppError('validation_failed', 'The page is too far from the start of the list.', {
      details: [{ path: 'page', code: 'too_deep', message: 'is too deep: go on with next_cursor' }],
    })
}

/**
 * A list by `page` or by `cursor` whose rows an index has in order: a page that begins within `WALK_ROWS` is asked of `list`, one
 * beyond is empty where the list ends before. @throws AppError 400 where the list goes on
 */
export async function withinReach<R, P extends { readonly offset: number; readonly limit: number }>(
  position: P,
  list: (position: P) => PromiseLike<readonly R[]>,
): Promise<readonly R[]> {
  if (position.offset <= WALK_ROWS) return list(position)
  const beyond = await list({ ...position, offset: WALK_ROWS, limit: 0 })
  if (beyond.length > 0) assertReached(position)
  return beyond
}
