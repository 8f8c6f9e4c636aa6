/**
 * Lists with a filter that no index supports. A page examines a bounded number of rows, however few of them match.
 *
 * Rows are examined in the order of the list. If the bound is reached before the page is full, the page is shorter or empty, and its
 * cursor continues at the bound. So the cost of a request is bounded, and a caller that follows the cursors sees every match.
 */
import type { PendingQuery, Row } from 'postgres'
import { AppError } from '../errors.ts'
import type { Moment } from './keyset.ts'
import type { Query } from './pool.ts'

type Fragment = PendingQuery<Row[]>

/** The most rows that one request examines. If it walks several lists, they share this number. */
export const WALK_ROWS = 10_000

/**
 * A page examines a tenth more rows than `rows`. A second statement determines the end of the walk. If rows were deleted in between,
 * the end moves down the list. The margin keeps the page from skipping the rows before the new end.
 */
export const marginOf = (sql: Query, rows: Fragment) => sql`${rows} * 11 / 10`

/** A place in a list, newest first. */
export type Place<M extends Moment = Moment> = readonly [moment: M, id: string]

export interface Walked<R, M extends Moment> {
  /** Up to one row more than the limit. */
  readonly rows: readonly R[]
  /** The place where the walk ended before the page was full. null if the list has ended or the page is full. */
  readonly end: Place<M> | null
}

/** A page of rows found without a walk. */
export const wholly = <R>(rows: readonly R[]): Walked<R, never> => ({ rows, end: null })

export interface Walk<R, M extends Moment> {
  readonly limit: number
  /** The rows of the page and one more, out of `WALK_ROWS` and the margin. */
  page(): Promise<readonly R[]>
  /** The place of the row after `WALK_ROWS`. null if there is none. */
  end(): Promise<Place<M> | null>
  placeOf(row: R): Place<M>
}

/** Determines the end of the walk only if the page is not full. */
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

/** The moments of a list are all numbers, or all texts of the same length, which sort in the order of time. */
const isBehind = ([moment, id]: Place, [lastMoment, lastId]: Place) =>
  moment < lastMoment || (moment === lastMoment && id < lastId)

/** For a page that is empty although the list continues after it. @throws AppError 400 unless it is the first page */
export function assertReached({ offset }: { readonly offset: number }): void {
  if (offset > 0)
    throw new AppError('validation_failed', 'The page is too far from the start of the list.', {
      details: [{ path: 'page', code: 'too_deep', message: 'is too deep: go on with next_cursor' }],
    })
}

/**
 * A list by `page` or by `cursor` whose order an index has. `list` reads a page that starts within `WALK_ROWS`. A later page is empty
 * if the list ends before it. @throws AppError 400 if the list continues
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
