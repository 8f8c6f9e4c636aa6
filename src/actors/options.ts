import { STATEMENT_TIMEOUT_MS } from '../platform/db/pool.ts'

/** The numbers of the runtime. Not settings of the service: tests turn them, operators need not. */
export interface RuntimeOptions {
  /** A worker not heard of for this long is dead. */
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** Pause between two sweeps, on average. */
  readonly sweepMs: number
  readonly sweepLimit: number
  /** Pause between two sweeps for organizations that wait, on average; only a worker that is full makes them. */
  readonly shareMs: number
  /** What the server allows a statement of a turn, as everywhere else. */
  readonly statementTimeoutMs: number
  /** A short turn that takes longer is abandoned, rolled back and counted as failed. */
  readonly turnTimeoutMs: number
  /** The same for a long turn, whose signal is aborted then; unless its actor names another time. */
  readonly longTurnTimeoutMs: number
  /** A transaction of many turns, or a long turn of many actors, that takes longer is given up, and each turn is done alone. */
  readonly batchPatienceMs: number
  /** How many actors share one transaction. */
  readonly batchKeys: number
  /** How many messages of one actor do. */
  readonly batchMessages: number
  /** Transactions at the same time, for turns together and for turns alone: a hanging one holds up its own kind only. */
  readonly batchSlots: number
  readonly aloneSlots: number
  readonly longSlots: number
  /** Turns of the pool `media` at the same time. */
  readonly mediaSlots: number
  /** Long turns that many actors share, at the same time. */
  readonly groupSlots: number
  /** How many actors share one of them. */
  readonly groupKeys: number
  /** After so many messages an actor goes to the end of the line. */
  readonly fairShare: number
  /** A message whose worker has ended so often while it was the head is given up, however many attempts it has left. */
  readonly maxDeaths: number
  /** Waiting time after the first failure; doubled after each, up to `retryCapMs`, and spread by half. */
  readonly retryBaseMs: number
  readonly retryCapMs: number
}

export const DEFAULT_OPTIONS: RuntimeOptions = {
  leaseMs: 15_000,
  heartbeatMs: 3_000,
  sweepMs: 2_000,
  sweepLimit: 500,
  shareMs: 500,
  statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  turnTimeoutMs: 60_000,
  longTurnTimeoutMs: 2 * 60 * 60_000,
  batchPatienceMs: 10_000,
  batchKeys: 64,
  batchMessages: 20,
  batchSlots: 2,
  aloneSlots: 2,
  longSlots: 2,
  mediaSlots: 2,
  groupSlots: 2,
  groupKeys: 32,
  fairShare: 200,
  maxDeaths: 10,
  retryBaseMs: 500,
  retryCapMs: 5 * 60_000,
}

/** Connections that a runtime with these options uses at the same time: one a slot, takeovers, and its own work. */
export function connectionsNeeded(options: RuntimeOptions): number {
  return (
    options.batchSlots +
    options.aloneSlots +
    2 * options.longSlots +
    options.mediaSlots +
    options.groupSlots +
    2
  )
}
