/** Statuses and headers of recorders. Pure. */
import { retryAfterSeconds } from '../../../platform/net/retry-after.rules.ts'

const PASSING = new Set([408, 425, 429])
const MAX_RETRY_AFTER_SECONDS = 3_600

/** The same request may succeed later, whatever it was. */
export function isPassing(status: number): boolean {
  return status >= 500 || PASSING.has(status)
}

/** The pause that `Retry-After` asks for, at most one hour. Null: it asks for none. */
export function pauseSecondsOf(header: string | null, now: Date): number | null {
  const seconds = retryAfterSeconds(header, now)
  return seconds === null ? null : Math.min(seconds, MAX_RETRY_AFTER_SECONDS)
}

/** Why a recorder refused to create a bot: continues "the recorder …". Null: by its status alone. */
export interface Refusal {
  readonly detail: string
  readonly kind: 'retryable' | 'terminal'
  readonly code: 'recorder_failed' | 'meeting_not_found'
}

/** For statuses that have one meaning at every recorder. */
export function refusalOfStatus(status: number): Refusal {
  const terminal = (detail: string): Refusal => ({ detail, kind: 'terminal', code: 'recorder_failed' })
  if (status === 401 || status === 403) return terminal(`does not accept the key (${status})`)
  if (status === 402) return terminal('has run out of credits (402)')
  if (status === 404 || status === 405) return terminal(`is not at this address (${status})`)
  if (status >= 300 && status < 400) return terminal(`redirects (${status}): name its final address`)
  if (isPassing(status) || status < 300)
    return { detail: `answered ${status}`, kind: 'retryable', code: 'recorder_failed' }
  return terminal(`refused the request (${status})`)
}

/** A moment in an answer; undefined if it is none. */
export function momentOf(text: string | null | undefined): Date | undefined {
  const date = new Date(text ?? '')
  return Number.isNaN(date.getTime()) ? undefined : date
}

/** A code of the recorder as it may stand in a message: letters, digits, `_`, `-`, `.`; at most 80. */
export function shownCode(code: string): string {
  return code.replaceAll(/[^\w.-]/g, '').slice(0, 80)
}
