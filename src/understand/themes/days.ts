/** The days of a period, as the clocks of the organization have them. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import { daysIn } from '../../platform/time-zone.rules.ts'
import { readTimeZone } from './days.store.ts'
import type { Days } from './read.store.ts'

/** What counts of a theme: a channel, and the days of these moments. `since` is included, `until` is not. */
export interface Counted {
  readonly channel?: Channel | undefined
  readonly since?: string | undefined
  readonly until?: string | undefined
}

export async function daysOfPeriod(
  sql: Query,
  organizationId: string,
  { channel, since, until }: Counted,
  now: Date,
): Promise<Days> {
  const dayOf = daysIn(await readTimeZone(sql, organizationId))
  const day = (moment: string | undefined) => (moment === undefined ? undefined : dayOf(Date.parse(moment)))
  return { channel, since: day(since), until: day(until), today: dayOf(now.getTime()) }
}
