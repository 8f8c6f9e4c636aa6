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

/** The most rows that one request examines. If it scans several lists, they share this number. */
export const SCAN_ROWS = 10_000

/**
 * A page examines a tenth more rows than `rows`. A second statement determines the end of the scan. If rows were deleted in between,
 * the end moves down the list. The margin keeps the page from skipping the rows before the new end.
 */
export const marginOf = (sql: Query, rows: Fragment) => sql`${rows} * 11 / 10`

/** A place in a list, newest first. */
export type Place<M extends Moment = Moment> = readonly [moment: M, id: string]

export interface Scanned<R, M extends Moment> {
  /** Up to one row more than the limit. */
  readonly rows: readonly R[]
  /** The place where the scan ended before the page was full. null if the list has ended or the page is full. */
  readonly end: Place<M> | null
}

/** A page of rows found without a scan. */
export const wholly = <R>(rows: readonly R[]): Scanned<R, never> => ({ rows, end: null })

export interface Scan<R, M extends Moment> {
  readonly limit: number
  /** The rows of the page and one more, out of `SCAN_ROWS` and the margin. */
  page(): Promise<readonly R[]>
  /** The place of the row after `SCAN_ROWS`. null if there is none. */
  end(): Promise<Place<M> | null>
  placeOf(row: R): Place<M>
}

/** Determines the end of the scan only if the page is not full. */
export async function scan<R, M extends Moment>({
  limit,
  page,
  end,
  placeOf,
}: Scan<R, M>): Promise<Scanned<R, M>> {
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
 * A list by `page` or by `cursor` whose order an index has. `list` reads a page that starts within `SCAN_ROWS`. A later page is empty
 * if the list ends before it. @throws AppError 400 if the list continues
 */
export async function withinReach<R, P extends { readonly offset: number; readonly limit: number }>(
  position: P,
  list: (position: P) => PromiseLike<readonly R[]>,
): Promise<readonly R[]> {
  if (position.offset <= SCAN_ROWS) return list(position)
  const beyond = await list({ ...position, offset: SCAN_ROWS, limit: 0 })
  if (beyond.length > 0) assertReached(position)
  return beyond
}
