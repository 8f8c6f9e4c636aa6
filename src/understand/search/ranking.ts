/** Finds the newest matches that are ranked, in as few weeks as have enough of them. */
import type { Tx } from '../../platform/db/pool.ts'
import { RANKED } from './model.ts'
import * as store from './search.store.ts'
import { enoughWeeks, FIRST_WEEKS, reaches, weekLabels } from './weeks.rules.ts'

/** Matches among which those that the caller may see are looked for. Null: all. */
const ENOUGH = 4_000
const EXAMINED = [ENOUGH, 40_000, null]

interface Place {
  readonly after: readonly [microseconds: number, score: string, id: number, way: number] | null
  readonly limit: number
}

/** Ranks the newest matches. Those of the newest weeks are looked at first. */
export async function rank(
  tx: Tx,
  wanted: store.Wanted,
  { after, limit }: Place,
  microseconds: number,
): Promise<readonly store.RankedRow[]> {
  const window = {
    ranked: RANKED,
    now: new Date(microseconds / 1_000).toISOString(),
    after: after === null ? null : ([after[1], after[2]] as const),
    limit,
  }
  const ofNewest = await rankNewest(tx, wanted, window)
  if (ofNewest !== null) return ofNewest
  for (const examined of EXAMINED) {
    const rows = await store.rankMatches(tx, wanted, { ...window, weeks: null, examined })
    const { examined: seen = 0, matches = 0 } = rows[0] ?? {}
    if (examined === null || seen < examined || matches > RANKED) return rows
  }
  return []
}

/** The same from the newest weeks alone, if they have enough matches. @returns null if they do not */
async function rankNewest(
  tx: Tx,
  wanted: store.Wanted,
  window: Omit<store.Window, 'weeks' | 'examined'>,
): Promise<readonly store.RankedRow[] | null> {
  const newest = new Date(wanted.until === undefined || wanted.until > window.now ? window.now : wanted.until)
  for (let weeks: number | null = FIRST_WEEKS; weeks !== null; ) {
    const labels = weekLabels(wanted.organizationId, newest, weeks)
    const rows = await store.rankMatches(tx, wanted, { ...window, weeks: labels, examined: ENOUGH })
    const { examined = 0, matches = 0 } = rows[0] ?? {}
    if (matches > RANKED || (examined < ENOUGH && reaches(wanted.since, newest, weeks))) return rows
    weeks = weeks === FIRST_WEEKS ? enoughWeeks(weeks, matches, RANKED + 1) : null
  }
  return null
}
