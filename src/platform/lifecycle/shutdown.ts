/**
 * Stops the parts of a process in order.
 *
 * SIGTERM comes from a supervisor, which may have a proxy in front of the process. The proxy needs time to notice, so the process
 * drains first: it announces its end and keeps serving.
 *
 * The part that started last stops first. Each part has a time budget. A part that exceeds its budget or fails is logged, and the
 * next part stops.
 */
import { resolvesWithin } from '../concurrency/timeout.ts'
import type { Log } from '../observability/log.ts'
import { oneLine } from './start-error.ts'

/** Time to wait for a start in progress, because the parts that it starts must be stopped too. */
const START_BUDGET_MS = 15_000

/** A second signal ends the process at once. Within this time it is a repetition: Ctrl-C reaches the launcher and the process. */
const REPEATED_SIGNAL_MS = 300

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export interface Shutdown {
  /** Aborted when the shutdown begins. */
  readonly signal: AbortSignal
  /** Aborted when the end is announced. The process serves on for a while. */
  readonly draining: AbortSignal
  /** Adds a part that stops before the parts that were added earlier. */
  add(name: string, budgetMs: number, stop: () => unknown): void
  /** Announces the end, and ends the process with exit code 0 after `ms`. A process that is still starting ends at once. */
  drain(ms: number): void
  /** Stops all parts and exits the process. Further calls have no effect. */
  end(exitCode: number): void
}

interface Part {
  readonly name: string
  readonly budgetMs: number
  readonly stop: () => unknown
}

/** `started` settles when the start has succeeded or failed. */
export function createShutdown(log: Log, started: Promise<unknown>): Shutdown {
  const parts: Part[] = []
  const begun = new AbortController()
  const draining = new AbortController()
  let isUp = false
  void started.then(() => {
    isUp = true
  })
  const run = async (exitCode: number) => {
    await resolvesWithin(started, START_BUDGET_MS)
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await stopPart(part, log)
    process.exit(exitCode)
  }
  const end = (exitCode: number) => {
    if (begun.signal.aborted) return
    draining.abort()
    begun.abort()
    void run(exitCode)
  }
  return {
    signal: begun.signal,
    draining: draining.signal,
    add: (name, budgetMs, stop) => void parts.push({ name, budgetMs, stop }),
    drain(ms) {
      if (!isUp || ms === 0) return end(0)
      draining.abort()
      setTimeout(end, ms, 0)
    },
    end,
  }
}

/**
 * Ends the process on SIGHUP and SIGINT, and after `drainMs` on SIGTERM. A second signal calls `abandon`, which must not wait, and exits.
 */
export function endOnSignals(
  shutdown: Shutdown,
  log: Log,
  { drainMs, abandon }: { readonly drainMs: number; readonly abandon: () => void },
): void {
  let first: number | null = null
  for (const [signal, number] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      const now = performance.now()
      if (first !== null && now - first < REPEATED_SIGNAL_MS) return
      if (first !== null) {
        abandon()
        process.exit(128 + number)
      }
      first = now
      log.info({ signal }, 'stopping')
      if (signal === 'SIGTERM') shutdown.drain(drainMs)
      else shutdown.end(0)
    })
  }
}

/**
 * Ends the process with exit code 1 on an unhandled error until it has started. Later one request may have caused it, and the process
 * answers all others, so the error is only logged.
 */
export function surviveErrors(shutdown: Shutdown, log: Log, started: Promise<unknown>): void {
  let isStarting = true
  void started.finally(() => {
    isStarting = false
  })
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error) => {
      log[isStarting ? 'fatal' : 'error']({ err: error }, event)
      if (isStarting) shutdown.end(1)
    })
  }
}

async function stopPart({ name, budgetMs, stop }: Part, log: Log): Promise<void> {
  const startedAt = performance.now()
  const elapsed = () => Math.round(performance.now() - startedAt)
  try {
    if (await resolvesWithin(Promise.resolve(stop()), budgetMs))
      log.debug({ part: name, ms: elapsed() }, 'stopped')
    else log.warn({ part: name, ms: elapsed() }, 'takes too long to stop, continuing')
  } catch (error) {
    log.error({ part: name, err: oneLine(error) }, 'failed to stop, continuing')
  }
}
