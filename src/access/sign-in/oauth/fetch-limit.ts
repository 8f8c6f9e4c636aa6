/**
 * Lets the library fetch the document of a client only if the client address of the request may try. A request can name a client
 * in several places, so the library says when it needs a document that it has not cached.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { AppError } from '../../../platform/errors.ts'

interface Attempt {
  readonly count: () => Promise<void>
  refusal: AppError | null
}

export interface FetchLimit {
  /** Whether the current request may fetch a document. */
  mayFetch(): Promise<boolean>
  /**
   * Runs the library for a request. `count` counts an attempt.
   * @throws AppError the refusal of `count`
   */
  run<T>(count: () => Promise<void>, work: () => Promise<T>): Promise<T>
}

export function createFetchLimit(): FetchLimit {
  const attempts = new AsyncLocalStorage<Attempt>()
  return {
    async mayFetch() {
      const attempt = attempts.getStore()
      if (attempt === undefined) return false
      try {
        await attempt.count()
        return true
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        attempt.refusal = error
        return false
      }
    },
    async run(count, work) {
      const attempt: Attempt = { count, refusal: null }
      // The library turns the refusal into an answer or an error of its own.
      const [outcome] = await Promise.allSettled([attempts.run(attempt, work)])
      if (attempt.refusal !== null) throw attempt.refusal
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
  }
}
