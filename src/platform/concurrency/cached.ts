/** Answers that may be a little old, so that a costly question is not asked by each caller. */

/** @returns the last answer of `ask`, or the one that is pending. Calls `ask` again if the answer is older than `ms`, in milliseconds. */
export function cachedFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | null = null
  let goodUntil = 0
  return () => {
    if (last !== null && performance.now() < goodUntil) return last
    goodUntil = Number.POSITIVE_INFINITY
    last = ask().finally(() => {
      goodUntil = performance.now() + ms
    })
    return last
  }
}
