/**
 * The end of a process, in order.
 *
 * The rule: what was started last is stopped first, each with a budget of its own. A phase that takes longer, or fails,
 * is logged and left behind; it never keeps the next one from its turn.
 */
import type { Log } from './log.ts'
import { oneLine } from './start-error.ts'

export interface Shutdown {
  /** Adds a phase that is run before those that were added earlier. */
  add(name: string, budgetMs: number, stop: () => unknown): void
  /** Runs all phases. Called again it waits for the same run. */
  run(): Promise<void>
}

interface Phase {
  readonly name: string
  readonly budgetMs: number
  readonly stop: () => unknown
}

export function createShutdown(log: Log): Shutdown {
  const phases: Phase[] = []
  let running: Promise<void> | null = null
  const runAll = async () => {
    for (let phase = phases.pop(); phase !== undefined; phase = phases.pop()) await runPhase(phase, log)
  }
  return {
    add(name, budgetMs, stop) {
      phases.push({ name, budgetMs, stop })
    },
    run() {
      running ??= runAll()
      return running
    },
  }
}

async function runPhase({ name, budgetMs, stop }: Phase, log: Log): Promise<void> {
  const startedAt = performance.now()
  let timer: Timer | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, budgetMs, 'late')
  })
  try {
    const outcome = await Promise.race([stop(), late])
    const ms = Math.round(performance.now() - startedAt)
    if (outcome === 'late') log.warn({ phase: name, ms }, 'shutdown phase took too long: going on')
    else log.debug({ phase: name, ms }, 'shutdown phase done')
  } catch (error) {
    log.error({ phase: name, err: oneLine(error) }, 'shutdown phase failed: going on')
  } finally {
    clearTimeout(timer)
  }
}
