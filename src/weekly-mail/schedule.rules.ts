/** When weekly mails are sent, and about which days: on Monday at 7:00 UTC, about the seven days before. Pure. */

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const WEEK_MS = 7 * DAY_MS
/** 1970-01-05 is a Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS
const SENDING_HOUR = 7

const mondayBefore = (time: number) => time - ((time - FIRST_MONDAY_MS) % WEEK_MS)

/** The next Monday at 7:00 UTC after `now`. */
export function nextMailAt(now: Date): Date {
  const thisWeek = mondayBefore(now.getTime()) + SENDING_HOUR * HOUR_MS
  return new Date(thisWeek > now.getTime() ? thisWeek : thisWeek + WEEK_MS)
}

/** The last week that is over. A service that was down for weeks sends one mail. */
export function weekOf(now: Date): { readonly since: string; readonly until: string } {
  const until = mondayBefore(now.getTime())
  return { since: new Date(until - WEEK_MS).toISOString(), until: new Date(until).toISOString() }
}
