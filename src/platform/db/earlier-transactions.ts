/**
 * Waits until every transaction that wrote something before now has ended.
 *
 * Triggers look whether somebody wants to hear of a change. A transaction that looked before the wish was committed leaves the change out,
 * also if it commits long after. When all of these have ended, no later change is left out.
 */
import type { Query } from './pool.ts'

/** Longer than a transaction of this service lasts. */
const DEADLINE_MS = 65_000
const PAUSES_MS = { first: 5, longest: 500 } as const

interface Patience {
  readonly deadlineMs?: number
  readonly isOver?: () => boolean
}

/** Holds no connection meanwhile. Gives up after the deadline, or when `isOver` says so. @returns whether all have ended */
export async function untilEarlierEnded(
  query: Query,
  { deadlineMs = DEADLINE_MS, isOver = () => false }: Patience = {},
): Promise<boolean> {
  // It belongs to a transaction that began after those.
  const [row] = await query<{ number: string }[]>`select pg_current_xact_id()::text as number`
  const deadline = performance.now() + deadlineMs
  for (let pauseMs: number = PAUSES_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSES_MS.longest)) {
    if (await haveEndedBefore(query, row?.number ?? '0')) return true
    if (performance.now() > deadline || isOver()) return false
    await Bun.sleep(pauseMs)
  }
}

/** Every role sees `backend_xid` of every connection. */
async function haveEndedBefore(query: Query, number: string): Promise<boolean> {
  const [row] = await query<{ ended: boolean }[]>`
    select not exists (
      select from pg_stat_activity
      where datname = current_database() and age(backend_xid) > age(${number}::text::xid8::xid)
    ) as ended`
  return row?.ended ?? false
}
