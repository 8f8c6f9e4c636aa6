/** Short intervals, so that minutes of trouble fit into seconds. */
import type { RuntimeOptions } from '../../../src/actors/options.ts'

export const CRASH_OPTIONS: Partial<RuntimeOptions> = {
  leaseMs: 1_000,
  heartbeatMs: 200,
  sweepMs: 250,
  turnTimeoutMs: 3_000,
  batchTimeoutMs: 1_000,
  batchKeys: 4,
  batchMessages: 3,
  longSlots: 4,
  groupKeys: 4,
  fairShare: 10,
  maxDeaths: 1_000, // workers are killed for no fault of a message
  retryBaseMs: 10,
  retryCapMs: 50,
}

/** Options of workers that run the service: as patient as a trial allows. */
export const FAULTY_OPTIONS: Partial<RuntimeOptions> = {
  leaseMs: 3_000,
  heartbeatMs: 600,
  sweepMs: 500,
  turnTimeoutMs: 3_000,
  batchTimeoutMs: 1_500,
  longSlots: 12,
  maxDeaths: 1_000,
  retryBaseMs: 50,
  retryCapMs: 500,
}
