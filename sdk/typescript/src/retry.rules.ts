/** When and whether a request is sent again (RFC 9110, sections 10.2.3 and 15). Pure. */

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000
/** A server cannot stop a sender for longer. */
const LONGEST_ASKED_MS = 10 * 60_000

/** The quota of the organization is used up (507): only its operator or a deletion helps. */
const QUOTA_EXCEEDED = 'quota_exceeded'

/**
 * True where the same request may succeed later: nothing was answered (null), the client is limited, or the server failed.
 * @param code the error code of the answer
 */
export function isRetryable(status: number | null, code?: string): boolean {
  if (code === QUOTA_EXCEEDED) return false
  return status === null || status === 408 || status === 425 || status === 429 || status >= 500
}

/** True where a part of the batch may be accepted: its size or one of its events was refused. */
export function mayBeSplit(status: number): boolean {
  return status === 400 || status === 409 || status === 413 || status === 422
}

/**
 * Milliseconds until the next attempt: what `Retry-After` says in seconds or as a date, else a random time in the upper half of a span
 * that doubles with each failure.
 * @param failures failed attempts so far, from 1
 * @param random from 0 to 1
 */
export function waitMs(failures: number, retryAfter: string | null, now: number, random: number): number {
  const asked = askedMs(retryAfter, now)
  if (asked !== null) return asked
  const span = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1))
  return Math.round(span * (0.5 + random / 2))
}

function askedMs(retryAfter: string | null, now: number): number | null {
  if (retryAfter === null) return null
  const text = retryAfter.trim()
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now
  return Number.isNaN(ms) ? null : Math.min(LONGEST_ASKED_MS, Math.max(0, ms))
}
