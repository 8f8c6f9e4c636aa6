/** Rules of quotas: how much an organization may store. Pure. */

export const QUOTA_NAMES = ['media', 'events'] as const

/** The part of a quota from which the operator is warned. */
export const WARNED_FROM = 0.8

export const BYTES_PER_GB = 1_000_000_000

/** Says that an organization has no limit, whatever the settings say. */
export const NO_LIMIT = -1

/** The limits of the settings; null: none. */
export interface QuotaSettings {
  readonly mediaBytes: number | null
  readonly events: number | null
}

/** @returns the limit of an organization whose own figure is `own`; null: none */
export function limitOf(own: number | null, general: number | null): number | null {
  if (own === NO_LIMIT) return null
  return own ?? general
}

/** What is still free. @returns null without a limit */
export function roomOf(limit: number | null, used: number): number | null {
  return limit === null ? null : Math.max(0, limit - used)
}
