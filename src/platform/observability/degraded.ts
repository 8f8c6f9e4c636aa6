/**
 * Parts without which the service still answers requests. While one of them fails, the service is degraded.
 *
 * A probe must not wait for a part that hangs, or a proxy takes the process out of service for it. So a part is asked in the background,
 * and the last known state counts until the answer is there.
 */

import { resolvesWithin, withTimeout } from '../concurrency/timeout.ts'
import { NeedsOperator } from '../errors.ts'

/** How long a probe waits for a part whose state is known. */
const PATIENCE_MS = 250

/** One entry of `degraded` in the answer of `/ready`. */
export interface Degraded {
  readonly part: string
  /** When this process noticed it first. */
  readonly since: Date
  /** What no longer works, for people, and the remedy if it is known. */
  readonly effect: string
}

export interface Part {
  /** Null while the part works. */
  state(): Promise<Degraded | null>
}

export interface PartOptions {
  readonly name: string
  readonly effect: string
  /** @throws if the part does not work */
  readonly ask: () => PromiseLike<unknown>
  /** Milliseconds after which a part that has not answered counts as failed. */
  readonly budgetMs: number
  readonly now: () => Date
  readonly onFailure: (error: unknown) => void
}

/** Concurrent questions share one answer. */
export function createPart({ name, effect, ask, budgetMs, now, onFailure }: PartOptions): Part {
  let known: Degraded | null | undefined
  let asking: Promise<void> | null = null

  async function update(): Promise<void> {
    try {
      await withTimeout(ask(), budgetMs, () => new Error(`no answer within ${budgetMs} ms`))
      known = null
    } catch (error) {
      onFailure(error)
      const reason = error instanceof NeedsOperator ? ` ${error.message}` : ''
      known = { part: name, since: known?.since ?? now(), effect: `${effect}${reason}` }
    } finally {
      asking = null
    }
  }

  return {
    async state() {
      asking ??= update()
      await (known === undefined ? asking : resolvesWithin(asking, PATIENCE_MS))
      return known ?? null
    },
  }
}
