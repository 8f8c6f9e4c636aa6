/**
 * A connection that listens to channels (LISTEN), and proves that it lives.
 *
 * The rule: whoever only waits does not notice that nobody can reach it any more: a network that is cut without a word leaves a
 * connection that looks well. So it asks to listen again every few seconds, which costs nothing where it listens already, takes
 * the connection away where it gets no answer, and is all that a new one needs.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { oneLine } from '../lifecycle/start-error.ts'
import type { Log } from '../observability/log.ts'
import { connect, type Database } from './pool.ts'

/** With the patience of a statement, and the grace that the pool adds to it: silence is noticed within ten seconds. */
const EVERY_MS = 5_000
const PATIENCE_MS = 2_000
/** Between attempts while there is no connection. */
const RETRY_MS = 500

export interface ListenOptions {
  /** Plain names: they are not quoted. */
  readonly channels: readonly string[]
  readonly applicationName: string
  readonly log: Log
  onNotification(channel: string, payload: string): void
}

export interface Listener {
  close(): Promise<void>
}

/**
 * Resolves when it listens; from then on only `close` ends it. What is notified while there is no connection is lost.
 * @throws where the first connection cannot be made
 */
export async function listen(database: Database, options: ListenOptions): Promise<Listener> {
  const { channels, applicationName, log, onNotification } = options
  const closing = new AbortController()
  let closed = Promise.withResolvers<void>()
  const sql = connect(database, {
    max: 1,
    applicationName,
    statementTimeoutMs: PATIENCE_MS,
    notifications: { onNotification, onClose: () => closed.resolve() },
  })
  const statements = channels.map((channel) => `listen ${channel}`).join('; ')
  const ask = async () => {
    closed = Promise.withResolvers()
    await sql.unsafe(statements).simple()
  }

  async function keepAsking(signal: AbortSignal): Promise<void> {
    let isLost = false
    for (;;) {
      const waited = delay(isLost ? RETRY_MS : EVERY_MS, undefined, { signal }).catch(() => {})
      await (isLost ? waited : Promise.race([waited, closed.promise]))
      if (signal.aborted) return
      try {
        await ask()
        if (isLost) log.info('listening again')
        isLost = false
      } catch (error) {
        if (!isLost && !signal.aborted) log.warn({ err: oneLine(error) }, 'listening connection lost')
        isLost = true
      }
    }
  }

  try {
    await ask()
  } catch (error) {
    await sql.end({ timeout: 0 })
    throw error
  }
  const asking = keepAsking(closing.signal)
  return {
    async close() {
      closing.abort()
      await sql.end({ timeout: 0 })
      await asking
    },
  }
}
