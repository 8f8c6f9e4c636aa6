/** Time-outs in one signal with the caller's. */

/** A time-out that can be started anew. */
export interface Watch {
  /** Aborted by the caller's signal, or with the error of the time-out. */
  readonly signal: AbortSignal
  /** Starts anew; `null` goes on with what was left when it was stopped. */
  start(ms: number | null): void
  stop(): void
}

/** `late` makes the error of the time-out. */
export function createWatch(caller: AbortSignal, late: () => Error): Watch {
  const controller = new AbortController()
  const signal = AbortSignal.any([caller, controller.signal])
  let timer: ReturnType<typeof setTimeout> | undefined
  let left = 0
  let startedAt = 0
  return {
    signal,
    start(ms) {
      clearTimeout(timer)
      left = ms ?? left
      startedAt = performance.now()
      timer = setTimeout(() => controller.abort(late()), left)
    },
    stop() {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      left = Math.max(0, left - (performance.now() - startedAt))
    },
  }
}

/** The signal of `work` is aborted with the error of `late` when the time is over. */
export async function withinTime<T>(
  ms: number,
  caller: AbortSignal,
  late: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const watch = createWatch(caller, late)
  watch.start(ms)
  try {
    return await work(watch.signal)
  } finally {
    watch.stop()
  }
}
