/**
 * Decides where work on a request is done.
 *
 * Small work runs on the HTTP thread at once: handing it over costs more than doing it. Two limits keep the thread free for others.
 * Work that turns out to be long is begun again in a thread. And between two looks at the network only so many bytes are worked
 * on, so that a flood of small bodies does not keep `/health` waiting.
 */
import { type Load, meter, type RequestWork, type Work } from './work.ts'
import { createWorkThreads, type WorkThreadsOptions } from './work-threads.ts'

/** Larger inputs are worked on in a thread. The most hostile JSON of this size takes some 10 ms to parse. */
const MAX_INLINE_BYTES = 32 * 1024
/** About 3 ms. */
const MAX_INLINE_UNITS = 300_000
/** Inputs that are worked on between two looks at the network; one alone may be larger. */
const BYTES_BETWEEN_LOOKS = 256 * 1024

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
  const turn = createTurns(BYTES_BETWEEN_LOOKS)
  return {
    async run<I, O>(work: Work<I, O>, input: I, { caller, bytes }: Load): Promise<O> {
      if (bytes <= MAX_INLINE_BYTES) {
        await turn(bytes)
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

/** Resolves at once while few bytes were let through since the last look at the network, else after one of the next. */
function createTurns(bytesBetweenLooks: number): (bytes: number) => Promise<void> | undefined {
  let left = bytesBetweenLooks
  let isLooking = false
  const waiting: { readonly bytes: number; readonly resolve: () => void }[] = []

  function look(): void {
    if (isLooking) return
    isLooking = true
    setImmediate(() => {
      isLooking = false
      left = bytesBetweenLooks
      let passed = 0
      for (const { bytes, resolve } of waiting) {
        if (left <= 0) break
        left -= bytes
        passed++
        resolve()
      }
      waiting.splice(0, passed)
      if (waiting.length > 0) look()
    })
  }

  return (bytes) => {
    look()
    if (left > 0 && waiting.length === 0) {
      left -= bytes
      return undefined
    }
    return new Promise((resolve) => waiting.push({ bytes, resolve }))
  }
}
