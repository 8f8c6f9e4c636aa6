/**
 * Limits concurrent work. Callers above the limit wait and are admitted in order.
 *
 * Every caller releases what it acquired, and never waits for the semaphore while holding it. So there is no deadlock.
 */
export class Semaphore {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** @returns a function that releases the permit; call it once @throws the reason of the signal */
  async acquire(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    if (this.#free > 0) this.#free--
    else await this.#wait(signal)
    return () => this.#release()
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      if (this.#waiting.delete(resolve)) reject(signal.reason)
    }
    this.#waiting.add(resolve)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #release(): void {
    const [next] = this.#waiting
    if (next === undefined) this.#free++
    else {
      this.#waiting.delete(next)
      next()
    }
  }
}

/** @throws what `work` throws; the reason of the signal if it is aborted before there is a permit */
export async function withPermit<T>(
  permits: Semaphore,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const release = await permits.acquire(signal)
  try {
    return await work()
  } finally {
    release()
  }
}
