/**
 * Doing something again until it works.
 *
 * The rule: time counts since the last progress, so that what gets on slowly is never given up, and waits grow with the
 * failures since then. Waits are drawn at random, so that many clients of a server that comes back do not come at once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { asFailure, ClientError, Transient } from './failures.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 20_000

export interface Persistence {
  readonly signal: AbortSignal
  /** How long to go on without progress; asked after every failure. */
  readonly patienceMs: () => number
  /** Told before every wait. */
  readonly onTrouble: (reason: string, waitMs: number) => void
}

/**
 * Calls `attempt` until it resolves or throws something that will not pass. It may call `progressed`, from which on patience
 * and waits begin anew.
 * @throws ClientError when patience is over; the reason of the signal
 */
export async function persist<T>(
  attempt: (progressed: () => void) => Promise<T>,
  { signal, patienceMs, onTrouble }: Persistence,
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
      if (!(failure instanceof Transient)) throw failure
      const waitMs = failure.retryAfterMs ?? backOffMs(failures, Math.random())
      if (performance.now() - since + waitMs > patienceMs()) throw exhausted(failure)
      failures++
      onTrouble(failure.message, waitMs)
      await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

const exhausted = ({ message, answered }: Transient) =>
  answered
    ? new ClientError('unavailable', message)
    : new ClientError('unreachable', `the service cannot be reached: ${message}`)

/** A random time of the upper half of a span that doubles with the failures, to its limit. @param random from 0 to 1 */
export function backOffMs(failures: number, random: number): number {
  const span = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures)
  return Math.round(span * (0.5 + random / 2))
}
