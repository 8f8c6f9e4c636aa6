/**
 * Which weeks a search asks first. Pure.
 *
 * A match costs a page of the table, because only the row says how old it is. The newest matches are wanted, so a search for a common
 * word asks in the newest weeks, and wider only if they have too few.
 */
import { markOf } from './query.rules.ts'

const DAY_MS = 86_400_000
/** A Monday. The index of words counts from it, too. */
const FIRST_MONDAY = Date.UTC(2000, 0, 3)
/** The present week, which may have just begun, and the one before. */
export const FIRST_WEEKS = 2
/** Beyond this, all matches are read in one go. */
const MOST_WEEKS = 26
/** Clocks of senders may be fast, and calls are planned. */
const WEEKS_AHEAD = 4
/** Weeks differ. */
const MARGIN = 1.5

const weekOf = (moment: Date): number => Math.floor((moment.getTime() - FIRST_MONDAY) / (7 * DAY_MS))

/** So many weeks up to that of `newest`, and those ahead, as the index has them. */
export function weekLabels(organizationId: string, newest: Date, weeks: number): readonly string[] {
  const last = weekOf(newest)
  return Array.from(
    { length: weeks + WEEKS_AHEAD },
    (_, n) => `${markOf(organizationId)}${last + WEEKS_AHEAD - n}`,
  )
}

/** Whether nothing since then is older than these weeks. */
export const reaches = (since: string | undefined, newest: Date, weeks: number): boolean =>
  since !== undefined && weekOf(new Date(since)) > weekOf(newest) - weeks

/**
 * The weeks that probably have enough matches.
 * @returns null: too many weeks, or no more than were asked
 */
export function enoughWeeks(weeks: number, matches: number, wanted: number): number | null {
  const enough = Math.ceil((MARGIN * weeks * wanted) / Math.max(matches, 1))
  return enough > weeks && enough <= MOST_WEEKS ? enough : null
}
