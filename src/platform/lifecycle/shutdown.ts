/**
 * The end of a process, in order.
 *
 * The rule: what was started last is stopped first, each part with a budget of its own. A part that takes longer, or
 * fails, is logged and left behind; it never keeps the next one from its turn.
 */
import { resolvesWithin } from '../concurrency/timeout.ts'
import type { Log } from '../observability/log.ts'
import { oneLine } from './start-error.ts'

/** How long a start that is under way is waited for: what it is about to have started must be stopped too. */
const START_BUDGET_MS = 15_000

/** A second signal ends the process at once, but not one that a launcher only repeats: Ctrl-C reaches both. */
const REPEATED_SIGNAL_MS = 300

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const

export interface Shutdown {
  /** Aborted when the shutdown begins. */
  readonly signal: AbortSignal
  /** Adds a part that is stopped before those that were added earlier. */
  add(name: string, budgetMs: number, stop: () => unknown): void
  /** Stops everything and exits the process. Once begun, further calls change nothing. */
  end(exitCode: number): void
}

interface Part {
  readonly name: string
  readonly budgetMs: number
  readonly stop: () => unknown
}

/** `started` settles when the start has come to an end, well or not. */
export function createShutdown(log: Log, started: Promise<unknown>): Shutdown {
  const parts: Part[] = []
  const begun = new AbortController()
  const run = async (exitCode: number) => {
    await resolvesWithin(started, START_BUDGET_MS)
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) await stopPart(part, log)
    process.exit(exitCode)
  }
  return {
    signal: begun.signal,
    add: (name, budgetMs, stop) => void parts.push({ name, budgetMs, stop }),
    end(exitCode) {
      if (begun.signal.aborted) return
      begun.abort()
      void run(exitCode)
    },
  }
}

/**
 * Ends the process on SIGHUP, SIGINT, SIGTERM, and with exit code 1 on an error that nobody handled. A second signal
 * calls `abandon`, which must not wait for anything, and exits.
 */
export function endOnSignals(shutdown: Shutdown, log: Log, abandon: () => void): void {
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
      shutdown.end(0)
    })
  }
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error) => {
      log.fatal({ err: error }, event)
      shutdown.end(1)
    })
  }
}

async function stopPart({ name, budgetMs, stop }: Part, log: Log): Promise<void> {
  const startedAt = performance.now()
  const elapsed = () => Math.round(performance.now() - startedAt)
  try {
    if (await resolvesWithin(Promise.resolve(stop()), budgetMs))
      log.debug({ part: name, ms: elapsed() }, 'stopped')
    else log.warn({ part: name, ms: elapsed() }, 'takes too long to stop: going on')
  } catch (error) {
    log.error({ part: name, err: oneLine(error) }, 'failed to stop: going on')
  }
}
