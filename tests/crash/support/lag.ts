/** Measures the backlog of the workers and the time until it drains. */
import type { Sql } from '../../../src/platform/db/pool.ts'
import { eventually } from '../../support/eventually.ts'

export interface LagMeter {
  /** The longest wait of a due message, in seconds. */
  readonly peakSeconds: number
  /** The most messages that waited at once. */
  readonly peakMessages: number
  stop(): Promise<void>
}

const EVERY_MS = 500

/** Samples twice a second while the server responds. */
export function measureLag(sql: Sql): LagMeter {
  let stopped = false
  let peakSeconds = 0
  let peakMessages = 0
  const running = (async () => {
    while (!stopped) {
      const [row] = await sql<{ age: number | null; waiting: number }[]>`
        select
          extract(epoch from now() - min(available_at) filter (where available_at <= now()))::float8 as age,
          count(*) as waiting
        from actor_message`.catch(() => [])
      peakSeconds = Math.max(peakSeconds, row?.age ?? 0)
      peakMessages = Math.max(peakMessages, row?.waiting ?? 0)
      await Bun.sleep(EVERY_MS)
    }
  })()
  return {
    get peakSeconds() {
      return peakSeconds
    },
    get peakMessages() {
      return peakMessages
    },
    async stop() {
      stopped = true
      await running
    },
  }
}

/**
 * Which messages are not work of the background. Second passes and themes follow at their own pace, which is that of one process with
 * the sentence embeddings for each worker, and slow where workers are killed all the time. crash/findings tests them.
 */
export const inForeground = (sql: Sql) => sql`key not like 'rereading:%' and key not like 'themes:%'`

/**
 * Waits without intervening until only work of the background is left.
 * @returns the seconds until no message waits @throws if that takes longer than `deadlineMs` */
export async function drained(sql: Sql, deadlineMs: number): Promise<number> {
  const started = performance.now()
  await eventually(
    async () => {
      const rows = await sql`
        select key, type, attempts, last_error
        from actor_message
        where ${inForeground(sql)}
        limit 5`
      if (rows.length > 0) throw new Error(`messages wait: ${JSON.stringify(rows)}`)
    },
    { deadlineMs, everyMs: 100 },
  )
  return (performance.now() - started) / 1_000
}
