/**
 * Decides where work on a request runs.
 *
 * Short work runs on the HTTP thread, because the transfer of 500 events to another thread and back costs half as much as the work
 * itself. Two limits keep the HTTP thread responsive:
 *
 * - Work that takes longer than estimated is stopped and started again in a work thread.
 * - Between two rounds of network I/O only a limited amount of work starts, so `/health` answers even in a flood of large bodies.
 *   Callers take turns.
 */
import { createTurns } from './turns.ts'
import { type Load, meter, type RequestWork, type Work } from './work.ts'
import { createWorkThreads, type WorkThreadsOptions } from './work-threads.ts'

/** About 4 ms. The estimate for a request of 500 typical events is 240,000. */
export const MAX_INLINE_UNITS = 400_000
/** Work that may start between two rounds of network I/O. */
const UNITS_PER_ROUND = 400_000

const COMPILED = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN')
const ENTRY = COMPILED
  ? './workers/request.worker.ts'
  : new URL('../../../workers/request.worker.ts', import.meta.url).href

const DEFAULTS: WorkThreadsOptions = { entry: ENTRY, threads: 2, deadlineMs: 15_000, idleMs: 60_000 }

/** The work is too long for the HTTP thread. */
class TooLong extends Error {
  override readonly name = 'TooLong'
}

/** `options` replaces some of the limits of the work threads. They start with the first work that is too long for the HTTP thread. */
export function createRequestWork(options: Partial<WorkThreadsOptions> = {}): RequestWork {
  const threads = createWorkThreads({ ...DEFAULTS, ...options })
  const turn = createTurns(UNITS_PER_ROUND)
  return {
    async run<I, O>(
      work: Work<I, O>,
      input: I,
      { caller, bytes, units, parts = [], keepsParts = false }: Load,
    ): Promise<O> {
      if (units <= MAX_INLINE_UNITS) {
        await turn(caller, units)
        try {
          return work.run(
            input,
            meter(MAX_INLINE_UNITS, () => new TooLong()),
          )
        } catch (error) {
          if (!(error instanceof TooLong)) throw error
        }
      }
      return (await threads.run(caller, { name: work.name, input, bytes, parts, keepsParts })) as O
    },
    close: () => threads.close(),
  }
}
