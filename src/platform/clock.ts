/**
 * The present time, injected so that rules can be tested at any time of day. The service has that of its database
 * (db/database-clock.ts). Leases never use it: they use the database's `now()`.
 */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }
