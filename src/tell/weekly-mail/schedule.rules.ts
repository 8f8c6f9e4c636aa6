/** When weekly mails are sent, and about which days: on Monday, seven hours after it began, about the seven days before. Pure. */
import { type Day, daysIn, shiftDay, startOf } from '../../platform/time-zone.rules.ts'

const SENDING_MS = 7 * 3_600_000

function mondayBefore(now: Date, timeZone: string): Day {
  const today = daysIn(timeZone)(now.getTime())
  return shiftDay(today, -((new Date(today).getUTCDay() + 6) % 7))
}

/** The next time after `now`. */
export function nextMailAt(now: Date, timeZone: string): Date {
  const monday = mondayBefore(now, timeZone)
  const [thisWeek, nextWeek] = [monday, shiftDay(monday, 7)].map((day) => startOf(day, timeZone) + SENDING_MS)
  return new Date(Number(thisWeek) > now.getTime() ? Number(thisWeek) : Number(nextWeek))
}

/** The last week that is over, from one Monday to the next. A service that was down for weeks sends one mail. */
export function weekOf(now: Date, timeZone: string): { readonly since: Day; readonly until: Day } {
  const until = mondayBefore(now, timeZone)
  return { since: shiftDay(until, -7), until }
}
