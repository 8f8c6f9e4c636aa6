/**
 * The process clock, injected so that rules can be tested at any time of day.
 * Leases and expiry never use it. They use the database's `now()`.
 */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
