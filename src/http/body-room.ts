/**
 * What the JSON bodies of requests may take in this process, all together.
 *
 * The rule: each body has a limit of its own, but many at once would still take whatever there is, several times over when they are
 * parsed. So bytes are counted as they come, until the request is answered, and what does not fit is refused with 503: a client
 * that repeats it a second later is better off than one whose server ran out of memory. Of large bodies only bytes that are there
 * count: slow clients that announce much keep nobody out.
 */
import { AppError } from '../platform/errors.ts'

/** The share of one request. */
export interface BodyShare {
  /** Counts bytes that are in memory now, or are about to be. @throws AppError 503 where there is no room */
  take(bytes: number): void
  /** @throws AppError 503 where so many more would find no room as it is */
  foresee(bytes: number): void
}

export interface BodyRoom {
  /** Runs `work`; what it takes is free again when it has settled. */
  share<T>(work: (share: BodyShare) => Promise<T>): Promise<T>
}

/** Room for `maxBytes`. A request that is alone fits, however large. */
export function createBodyRoom(maxBytes: number): BodyRoom {
  let taken = 0
  return {
    async share(work) {
      let mine = 0
      const foresee = (bytes: number) => {
        const isAlone = taken === mine
        if (!isAlone && taken + bytes > maxBytes) throw noRoom()
      }
      try {
        return await work({
          foresee,
          take(bytes) {
            foresee(bytes)
            mine += bytes
            taken += bytes
          },
        })
      } finally {
        taken -= mine
      }
    },
  }
}

function noRoom(): AppError {
  return new AppError('unavailable', 'Too many large requests are under way. Try again shortly.', {
    headers: { 'retry-after': '1' },
  })
}
