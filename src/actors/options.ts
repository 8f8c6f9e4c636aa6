import { STATEMENT_TIMEOUT_MS } from '../platform/db/pool.ts'

/** The limits and times of the runtime. They are not settings of the service: tests change them, operators need not. */
export interface RuntimeOptions {
  /** A worker whose last heartbeat is older than this counts as dead. */
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** The average pause between two sweeps. */
  readonly sweepMs: number
  readonly sweepLimit: number
  /** The average pause between two sweeps for waiting organizations; only a full worker makes them. */
  readonly shareMs: number
  /** The server's time limit for one statement of a turn, as everywhere else. */
  readonly statementTimeoutMs: number
  /** The time limit of a short turn. One that takes longer is abandoned, rolled back and counted as failed. */
  readonly turnTimeoutMs: number
  /** The time limit of a long turn, unless its definition has another. After it the turn's signal is aborted. */
  readonly longTurnTimeoutMs: number
  /** The time limit of a shared transaction or a shared long turn. One that takes longer is dropped, and each turn runs alone. */
  readonly batchTimeoutMs: number
  /** The most actors in one transaction. */
  readonly batchKeys: number
  /** The most messages of one actor in one transaction. */
  readonly batchMessages: number
  /** Simultaneous transactions for turns together and (`aloneSlots`) for turns alone. One that hangs holds up only its own kind. */
  readonly batchSlots: number
  readonly aloneSlots: number
  readonly longSlots: number
  /** Simultaneous turns of the pool `media`. */
  readonly mediaSlots: number
  /** Simultaneous turns of the pool `outbound`, and how many of them may belong to one organization. */
  readonly outboundSlots: number
  readonly outboundShare: number
  /** Simultaneous shared long turns. */
  readonly groupSlots: number
  /** Simultaneous turns of the pool `background`, and as many shared ones. */
  readonly backgroundSlots: number
  /** The most actors in one shared long turn. */
  readonly groupKeys: number
  /** How long a worker lets wake-ups gather after it has read several at once. It bounds what a busy worker adds to the latency. */
  readonly gatherMs: number
  /** After this many messages an actor goes to the end of the line. */
  readonly fairShare: number
  /** A message with this many counted deaths is given up, however many attempts it has left. */
  readonly maxDeaths: number
  /** The pause after the first failure. It doubles after each failure, up to `retryCapMs`, and is spread over 50 % to 100 %. */
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
  batchTimeoutMs: 10_000,
  batchKeys: 64,
  batchMessages: 20,
  batchSlots: 2,
  aloneSlots: 2,
  longSlots: 2,
  mediaSlots: 2,
  outboundSlots: 96,
  outboundShare: 12,
  groupSlots: 2,
  backgroundSlots: 1,
  groupKeys: 32,
  gatherMs: 100,
  fairShare: 200,
  maxDeaths: 10,
  retryBaseMs: 500,
  retryCapMs: 5 * 60_000,
}

/**
 * How many connections a runtime with these options uses at the same time: one per slot except those of `outbound`, takeovers, and its own
 * work. Actors of `outbound` limit their transactions themselves (`limit-transactions.ts`, `webhooks/sending.ts`).
 */
export function connectionsNeeded(options: RuntimeOptions): number {
  return (
    options.batchSlots +
    options.aloneSlots +
    2 * options.longSlots +
    options.mediaSlots +
    options.groupSlots +
    2 * options.backgroundSlots +
    2
  )
}
