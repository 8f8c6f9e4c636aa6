/**
 * Retries with exponential backoff.
 *
 * The time limit counts from the last progress, so slow progress never gives up. Waits grow with the failures since
 * then. They are randomized, so that the clients of a restarted server do not all return at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { asFailure, ClientError, TransientError } from './failures.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 20_000

export interface RetryOptions {
  readonly signal: AbortSignal
  /** Time without progress after which to give up. Read after every failure. */
  readonly giveUpAfterMs: () => number
  /** Called before every wait. */
  readonly onRetry: (reason: string, waitMs: number) => void
}

/**
 * Calls `attempt` until it resolves or throws a permanent error. `attempt` may call `progressed` to reset the time
 * limit and the waits.
 * @throws ClientError after too long without progress; the reason of the signal
 */
export async function retryWithBackoff<T>(
  attempt: (progressed: () => void) => Promise<T>,
  { signal, giveUpAfterMs, onRetry }: RetryOptions,
): Promise<T> {
  let failures = 0
  let since = performance.now()
  const progressed = () => {
    failures = 0
    since = performance.now()
  }
  for (;;) {
    signal.throwIfAborted()
    try {
      return await attempt(progressed)
    } catch (error) {
      signal.throwIfAborted()
      const failure = asFailure(error)
      if (!(failure instanceof TransientError)) throw failure
      const waitMs = failure.retryAfterMs ?? backOffMs(failures, Math.random())
      if (performance.now() - since + waitMs > giveUpAfterMs()) throw gaveUp(failure)
      failures++
      onRetry(failure.message, waitMs)
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

const gaveUp = ({ message, answered }: TransientError) =>
  answered
    ? new ClientError('unavailable', message)
    : new ClientError('unreachable', `the service cannot be reached: ${message}`)

/**
 * A random time in the upper half of a span that doubles with each failure, up to a limit. @param random from 0 to 1
 */
export function backOffMs(failures: number, random: number): number {
  const span = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
  return Math.round(span * (0.5 + random / 2))
}
