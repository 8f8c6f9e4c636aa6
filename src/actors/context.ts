/** The context that every part of one worker's runtime shares. */

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
  /** Records which message this worker runs at this moment. */
  readonly running: RunningMark
  /** This worker's id, never used again. */
  readonly worker: string
  readonly options: RuntimeOptions
  readonly definitions: ReadonlyMap<string, ActorDefinition>
  /** Aborted when the worker stops: finish the current turns, begin no new ones. */
  readonly stopping: AbortSignal
  /** Running long turns. The heartbeat aborts those whose actor was taken over. */
  readonly longTurns: Map<ActorKey, { readonly epoch: number; readonly controller: AbortController }>
}

/**
 * Tells the dispatcher that a key is no longer in hand. `seen` is the number of the newest message that was read (0: none).
 * If a wake-up for a later message arrived meanwhile, the dispatcher starts the key again.
 */
type Leave = (key: ActorKey, seen: number) => void

/** How an activation starts others. */
export interface Handover {
  readonly leave: Leave
  /** Runs `key` alone, at once or after a delay. */
  later(key: ActorKey, delayMs: number): void
  /** Sends new wake-ups for actors that go to the end of the line. `heads` are the first messages of these actors. */
  notifyAgain(heads: readonly Message[]): void
}
