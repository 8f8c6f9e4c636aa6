/**
 * The first use of the database by a process that starts, which may be earlier than the server: after a power cut, or where
 * containers start in any order.
 *
 * The rule: what may pass by itself is waited for, with a line in the log now and then that says for what; what will not, such as
 * a wrong password or a database that does not exist, ends the start at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { isServerAway } from './sqlstate.ts'

const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 5_000
const LOG_EVERY_MS = 10_000

export interface Patience {
  /** Where the server is, for people: never with a password. */
  readonly place: string
  /** How long a server that is away is waited for; 0: not at all. */
  readonly waitMs: number
  /** Aborted when the process is to end. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * Runs `work`, again and again while the server is away; it may be cut off anywhere in the middle.
 * @throws StartError where the server is still away at the end of the time; what `work` throws for any other reason
 */
export async function onceServerIsThere<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
  const { place, waitMs, signal, log } = patience
  const startedAt = performance.now()
  let loggedAt = Number.NEGATIVE_INFINITY
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      const result = await work()
      if (loggedAt > 0)
        log.info({ waitedMs: Math.round(performance.now() - startedAt) }, 'the database is there')
      return result
    } catch (error) {
      if (!isServerAway(error)) throw error
      const now = performance.now()
      const leftMs = startedAt + waitMs - now
      if (leftMs <= 0 || signal.aborted) throw new StartError(cannotBeUsed(place, error, waitMs))
      if (now - loggedAt >= LOG_EVERY_MS) {
        log.warn(
          { database: place, err: oneLine(error), forMs: Math.round(leftMs) },
          'waiting for the database',
        )
        loggedAt = now
      }
      // Many processes that start together do not stay in step.
      await delay(Math.min(pauseMs * (0.5 + Math.random() / 2), leftMs), undefined, { signal }).catch(
        () => {},
      )
    }
  }
}

function cannotBeUsed(place: string, error: unknown, waitMs: number): string {
  const waited = waitMs === 0 ? '' : ` (waited for ${waitMs / 1_000} s: DATABASE_WAIT)`
  return `${place} cannot be used: ${oneLine(error)}${waited}`
}
