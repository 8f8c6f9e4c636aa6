/** Says which period a list has, and leads to the list without one. */
import { daysIn } from '../../../platform/time-zone.rules.ts'
import type { Filters } from '../address.ts'
import { useTimeZone } from '../context.ts'
import { momentOf } from '../period.ts'
import { dateOf } from '../words.ts'

export interface Bounds {
  /** RFC 3339; absent: without this bound. */
  readonly since?: string
  readonly until?: string
}

/** The period in the address of a page. What is no moment bounds nothing: people edit addresses. */
export function boundsOf(filters: Filters): Bounds {
  const [since, until] = [momentOf(filters.get('since')), momentOf(filters.get('until'))]
  return { ...(since === null ? {} : { since }), ...(until === null ? {} : { until }) }
}

export function PeriodNote({ filters }: { readonly filters: Filters }) {
  const { since, until } = boundsOf(filters)
  const dayOf = daysIn(useTimeZone())
  if (since === undefined && until === undefined) return null
  return (
    <p class="quiet">
      {since === undefined ? null : `From ${dateOf(dayOf(Date.parse(since)))} `}
      {/* The moment before, because a period ends with the start of a day. */}
      {until === undefined ? null : `to ${dateOf(dayOf(Date.parse(until) - 1))} `}
      <button type="button" class="link" onClick={() => filters.set('since', '', { until: '' })}>
        Show all
      </button>
    </p>
  )
}
