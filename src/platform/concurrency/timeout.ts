/** Waiting with a time limit. */

/**
 * Resolves or rejects as `work` does. Work that takes longer is abandoned, not stopped.
 * @throws the error of `onTimeout` if `work` takes longer than `ms` milliseconds
 */
export async function withTimeout<T>(work: PromiseLike<T>, ms: number, onTimeout: () => Error): Promise<T> {
  const timeout = Promise.withResolvers<never>()
  const timer = setTimeout(() => timeout.reject(onTimeout()), ms)
  try {
    return await Promise.race([work, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** True if `work` resolves within `ms` milliseconds, false if it takes longer. Rejects if `work` rejects in time. */
export async function resolvesWithin(work: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const timeout = Promise.withResolvers<false>()
  const timer = setTimeout(timeout.resolve, ms, false)
  try {
    return await Promise.race([work.then(() => true), timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs `work` with a signal that is aborted by `caller`, or with the error of `onTimeout` after `ms` milliseconds. */
export async function withTimeoutSignal<T>(
  ms: number,
  caller: AbortSignal,
  onTimeout: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = createPausableTimeout(caller, onTimeout)
  timeout.start(ms)
  try {
    return await work(timeout.signal)
  } finally {
    timeout.stop()
  }
}

/** A time limit that can be stopped and started again. */
export interface PausableTimeout {
  /** Aborted by the caller's signal, or with the error of the time-out. */
  readonly signal: AbortSignal
  /** Starts a limit of `ms` milliseconds; `null` continues with the time that was left at the last stop. */
  start(ms: number | null): void
  stop(): void
}

/** Not started yet. `onTimeout` makes the error of the time-out. */
export function createPausableTimeout(caller: AbortSignal, onTimeout: () => Error): PausableTimeout {
  const controller = new AbortController()
  const signal = AbortSignal.any([caller, controller.signal])
  let timer: Timer | undefined
  let left = 0
  let startedAt = 0
  return {
    signal,
    start(ms) {
      clearTimeout(timer)
      left = ms ?? left
      startedAt = performance.now()
      timer = setTimeout(() => controller.abort(onTimeout()), left)
    },
    stop() {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      left = Math.max(0, left - (performance.now() - startedAt))
    },
  }
}
