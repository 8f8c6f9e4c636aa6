/**
 * A connection that listens to channels (LISTEN) and checks that it is alive.
 *
 * A connection that only waits does not notice that the network was cut. So the listener repeats its LISTEN statements every few
 * seconds. They change nothing on a connection that already listens. Without an answer in time, the driver replaces the connection,
 * and the next repetition makes the new connection listen.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { oneLine } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { connect, type Database } from './pool.ts'

/** Together with the statement timeout and the grace that the pool adds, a silent connection is noticed within ten seconds. */
const EVERY_MS = 5_000
const STATEMENT_TIMEOUT_MS = 2_000
/** Pause between attempts while there is no connection. */
const RETRY_MS = 500

export interface ListenOptions {
  /** Plain names, because they are not quoted. */
  readonly channels: readonly string[]
  readonly applicationName: string
  readonly log: Log
  onNotification(channel: string, payload: string): void
}

export interface Listener {
  close(): Promise<void>
}

/**
 * Resolves when the connection listens. After that, only `close` ends it. Notifications sent while it is disconnected are lost.
 * @throws the error of the first connection
 */
export async function listen(database: Database, options: ListenOptions): Promise<Listener> {
  const { channels, applicationName, log, onNotification } = options
  const closing = new AbortController()
  let closed = Promise.withResolvers<void>()
  const sql = connect(database, {
    max: 1,
    session: true,
    applicationName,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    notifications: { onNotification, onClose: () => closed.resolve() },
  })
  const statements = channels.map((channel) => `listen ${channel}`).join('; ')
  const startListening = async () => {
    closed = Promise.withResolvers()
    await sql.unsafe(statements).simple()
  }

  async function repeat(signal: AbortSignal): Promise<void> {
    let isLost = false
    for (;;) {
      const waited = delay(isLost ? RETRY_MS : EVERY_MS, undefined, { signal }).catch(() => {})
      await (isLost ? waited : Promise.race([waited, closed.promise]))
      if (signal.aborted) return
      try {
        await startListening()
        if (isLost) log.info('listening again')
        isLost = false
      } catch (error) {
        if (!isLost && !signal.aborted) log.warn({ err: oneLine(error) }, 'listening connection lost')
        isLost = true
      }
    }
  }

  try {
    await startListening()
  } catch (error) {
    await sql.end({ timeout: 0 })
    throw error
  }
  const repeating = repeat(closing.signal)
  return {
    async close() {
      closing.abort()
      await sql.end({ timeout: 0 })
      await repeating
    },
  }
}
