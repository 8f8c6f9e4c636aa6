/**
 * The first use of the database by a starting process. The server may start later than the process, for example after a power cut
 * or when containers start in any order.
 *
 * The process waits while the server is away and logs regularly that it waits. Any other error, such as a wrong password or a
 * missing database, ends the start at once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { oneLine, StartError } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { isServerAway } from './sqlstate.ts'

const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 5_000
const LOG_EVERY_MS = 10_000

export interface Patience {
  /** The address of the server for messages. Never contains a password. */
  readonly place: string
  /** How long to wait for a server that is away. 0 means not at all. */
  readonly waitMs: number
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
  readonly log: Log
}

/**
 * Runs `work` and repeats it while the server is away. The connection may fail at any point of `work`, so `work` must be repeatable.
 * @throws StartError if the server is still away after `waitMs`; any other error of `work`
 */
export async function onceServerIsThere<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
  const { place, waitMs, signal, log } = patience
  const startedAt = performance.now()
  let loggedAt = Number.NEGATIVE_INFINITY
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    try {
      const result = await work()
      if (loggedAt > 0)
        log.info({ waitedMs: Math.round(performance.now() - startedAt) }, 'the database is available')
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
      // The random part keeps processes that start together from retrying at the same moments.
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
