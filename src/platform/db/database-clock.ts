/**
 * The time of the database, kept by this process.
 *
 * What is stored and compared by several machines has one clock. A machine whose clock is hours wrong, or is set while the service
 * runs, answers and decides as the others do. Between two answers of the database, time goes on by the monotonic clock.
 */
import { type Clock, systemClock } from '../clock.ts'
import type { Log } from '../observability/log.ts'
import type { Sql } from './pool.ts'

/** The two clocks drift apart by less than a millisecond meanwhile. A machine that slept is right again after it. */
const EVERY_MS = 60_000
/** A difference that is worth a line in the log. */
const WRONG_MS = 60_000

export interface DatabaseClock extends Clock {
  /** Asks the database now, and every minute until `stop`. Never rejects: if the database does not answer, time goes on. */
  follow(): Promise<void>
  stop(): void
}

/** Tells the time of this machine until `follow` has asked. */
export function createDatabaseClock(sql: Sql, log: Log, machine: Clock = systemClock): DatabaseClock {
  let known = { ms: machine.now().getTime(), at: performance.now() }
  let timer: Timer | undefined
  let isToldWrong = false

  const at = (monotonicMs: number) => known.ms + monotonicMs - known.at

  async function ask(): Promise<void> {
    const sent = performance.now()
    const [row] = await sql<[{ now: Date }]>`select clock_timestamp() as now`
    const received = performance.now()
    // The answer is as old as the way back. Also the wait for a connection counts here, so a late answer says little.
    const errorMs = (received - sent) / 2
    const ms = row.now.getTime() + errorMs
    if (Math.abs(ms - at(received)) > errorMs) known = { ms, at: received }
    const aheadMs = machine.now().getTime() - at(performance.now())
    const isWrong = Math.abs(aheadMs) > WRONG_MS
    if (isWrong && !isToldWrong)
      log.warn(
        { aheadSeconds: Math.round(aheadMs / 1_000) },
        'the clock of this machine differs from that of the database, which counts',
      )
    isToldWrong = isWrong
  }

  return {
    now: () => new Date(at(performance.now())),
    async follow() {
      timer ??= setInterval(() => void ask().catch(() => {}), EVERY_MS).unref()
      await ask().catch(() => {})
    },
    stop: () => clearInterval(timer),
  }
}
