/** When a session began and ended, by its events. Pure. */
import type { PreparedEvent } from '../events/fingerprint.ts'
import type { Times } from './model.ts'

type Occurred = { readonly event: Pick<PreparedEvent['event'], 'occurredAt'> }

/** The first and the last time; null without events. */
export function timesOf(events: readonly Occurred[]): Times | null {
  const [one, ...others] = events
  if (one === undefined) return null
  let [first, last] = [one.event.occurredAt, one.event.occurredAt]
  for (const { event } of others) {
    if (isBefore(event.occurredAt, first)) first = event.occurredAt
    if (isBefore(last, event.occurredAt)) last = event.occurredAt
  }
  return { first, last }
}

/** Of texts from `toUtc`: they differ in the length of the fraction, so they are compared without the `Z`. */
const isBefore = (one: string, other: string): boolean => one.slice(0, -1) < other.slice(0, -1)
