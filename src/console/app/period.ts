/** The period that a page shows, in whole days of UTC, as the counts have them. */
/** Before everything that was said. */
export const EVER = '1970-01-01T00:00:00Z'

const DAY_MS = 86_400_000

export interface Period {
  /** RFC 3339. */
  readonly since: string
  readonly until: string
  /** Each day, as `2026-01-02`. */
  readonly days: readonly string[]
}

/** The last days with today. */
export function lastDays(count: number, now = Date.now()): Period {
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const days = Array.from({ length: count }, (_, index) =>
    new Date(today - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )
  return { since: `${days[0]}T00:00:00Z`, until: new Date(today + DAY_MS).toISOString(), days }
}

/** One day, as `2026-01-02`. */
export const periodOf = (day: string): Pick<Period, 'since' | 'until'> => ({
  since: `${day}T00:00:00Z`,
  until: new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS).toISOString(),
})

const MOMENT = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i

/** The text, if the API takes it as a moment (RFC 3339); otherwise null. */
export function momentOf(text: string): string | null {
  const day = MOMENT.exec(text)?.[1]
  if (day === undefined || Number.isNaN(Date.parse(text))) return null
  // The 30th of February is parsed as a day of March.
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day) ? text : null
}
