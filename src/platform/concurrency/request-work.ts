/**
 * Decides where work on a request is done.
 *
 * Short work runs on the HTTP thread: handing 500 events over to another thread and taking the result back costs half as much as the
 * work. Two limits keep the thread free for others. Work that turns out to be longer than was thought is begun again in a thread.
 * And between two looks at the network only so much work is done, so that a flood of bodies does not keep `/health` waiting; callers
 * take turns at it.
 */
import { createFairQueue } from './fair-queue.ts'
import { type Load, meter, type RequestWork, type Work } from './work.ts'
import { createWorkThreads, type WorkThreadsOptions } from './work-threads.ts'

/** About 4 ms. A request of 500 usual events is thought to take 240,000. */
export const MAX_INLINE_UNITS = 400_000
/** Of work that is begun between two looks at the network. */
const UNITS_BETWEEN_LOOKS = 400_000

const COMPILED = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN')
const ENTRY = COMPILED
  ? './workers/request.worker.ts'
  : new URL('../../../workers/request.worker.ts', import.meta.url).href

const DEFAULTS: WorkThreadsOptions = { entry: ENTRY, threads: 2, deadlineMs: 15_000, idleMs: 60_000 }

/** There is too much of it for the HTTP thread. */
class TooLong extends Error {
  override readonly name = 'TooLong'
}

export function createRequestWork(options: Partial<WorkThreadsOptions> = {}): RequestWork {
  const threads = createWorkThreads({ ...DEFAULTS, ...options })
  const turn = createTurns(UNITS_BETWEEN_LOOKS)
  return {
    async run<I, O>(work: Work<I, O>, input: I, { caller, bytes, units }: Load): Promise<O> {
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
      return (await threads.run(caller, { name: work.name, input, bytes })) as O
    },
    close: () => threads.close(),
  }
}

/** Resolves at once while little work was let through since the last look at the network, else after one of the next. */
function createTurns(
  unitsBetweenLooks: number,
): (caller: string, units: number) => Promise<void> | undefined {
  let left = unitsBetweenLooks
  let isLooking = false
  const waiting = createFairQueue<{ readonly units: number; readonly resolve: () => void }>()

  function look(): void {
    if (isLooking) return
    isLooking = true
    setImmediate(() => {
      isLooking = false
      left = unitsBetweenLooks
      for (let next = waiting.take(); next !== null; next = left > 0 ? waiting.take() : null) {
        left -= next.units
        next.resolve()
      }
      if (!waiting.isEmpty) look()
    })
  }

  return (caller, units) => {
    look()
    if (left > 0 && waiting.isEmpty) {
      left -= units
      return undefined
    }
    return new Promise((resolve) => waiting.add(caller, { units, resolve }))
  }
}
