/** A time-out that can be started anew, in one signal with the caller's. */

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
