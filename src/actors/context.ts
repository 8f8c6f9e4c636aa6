/** What every part of one worker's runtime is given. */

import type { Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'
import type { Metrics } from '../platform/observability/metrics.ts'
import type { RuntimeOptions } from './options.ts'
import type { RunningMark } from './running.ts'
import type { ActorDefinition, ActorKey, Message, Notifier } from './types.ts'

export interface Context {
  readonly sql: Sql
  readonly log: Log
  readonly metrics: Metrics
  readonly notifier: Notifier
  /** Says which message this worker runs at this moment. */
  readonly running: RunningMark
  /** This worker's id: unique for ever. */
  readonly worker: string
  readonly options: RuntimeOptions
  readonly definitions: ReadonlyMap<string, ActorDefinition>
  /** Aborted when the worker stops: finish what is at hand, begin nothing. */
  readonly stopping: AbortSignal
  /** Long turns at hand; the heartbeat aborts those whose actor was taken away. */
  readonly longTurns: Map<ActorKey, { readonly epoch: number; readonly controller: AbortController }>
}

/**
 * Tells the dispatcher that a key is not in hand any more. `seen` is the newest message that was looked at (0: none):
 * a notifier that notified meanwhile for a later one starts the key again.
 */
export type Leave = (key: ActorKey, seen: number) => void

/** How an activation starts others. */
export interface Handover {
  readonly leave: Leave
  /** Starts `key` alone, at once or after a delay. */
  later(key: ActorKey, delayMs: number): void
  /** Wake-ups for actors that go to the end of the line, of which these are the heads. */
  notifyAgain(heads: readonly Message[]): void
}
