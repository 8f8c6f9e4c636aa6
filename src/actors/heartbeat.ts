/**
 * The heartbeat of one worker. It runs on the worker's own event loop, so that a stuck thread looks dead.
 *
 * The lease only says which worker may try; the epoch makes a takeover safe. So a late heartbeat is no error: its only effect is
 * that long turns whose actor was taken over are aborted. But every statement must succeed or fail in time
 * (`platform/db/pool.ts`). If no heartbeat does, this thread has lost its connections permanently. It then ends, and another thread
 * replaces it.
 */
import { resolvesWithin } from '../platform/concurrency/timeout.ts'
import type { Context } from './context.ts'
import { pause } from './pause.ts'
import { stillHeld } from './statements.ts'
import { Fenced } from './types.ts'
import { beat } from './worker-statements.ts'

/**
 * A stopping worker waits this long for a heartbeat that is under way. If the heartbeat arrived after the worker's row was removed, it
 * would register the worker again.
 */
const LAST_HEARTBEAT_MS = 1_000

/** In leases. Longer than a statement takes to time out and the next connection takes to open or time out. */
const PATIENCE = 4

/**
 * Sends heartbeats until the context stops. The caller sends the first one, because claims need the worker's row.
 * @throws Error if no heartbeat has succeeded or failed for so long that none will
 */
export async function keepBeating(context: Context, stopped: AbortSignal): Promise<void> {
  const { heartbeatMs, leaseMs } = context.options
  // Counts heartbeats, not time: after a pause of the whole process, answers that arrived meanwhile are read first.
  const most = Math.ceil((PATIENCE * leaseMs) / (2 * heartbeatMs)) // each heartbeat takes two pauses
  let unsettled = 0
  let settled = Promise.resolve()
  for (;;) {
    await pause(heartbeatMs, stopped)
    if (stopped.aborted) {
      await resolvesWithin(settled, LAST_HEARTBEAT_MS)
      return
    }
    if (unsettled++ >= most) {
      context.running.blameNobody()
      throw new Error(`none of ${most} heartbeats succeeded or failed`)
    }
    settled = beatOnce(context).then(() => {
      unsettled = 0
    })
    // Does not wait for a heartbeat on a connection that went silent: the next one uses another connection.
    await Promise.race([settled, pause(heartbeatMs, stopped)])
  }
}

async function beatOnce(context: Context): Promise<void> {
  try {
    await beat(context.sql, context.worker)
    await abortLostTurns(context)
  } catch (error) {
    context.log.warn({ err: error }, 'heartbeat failed')
  }
}

async function abortLostTurns(context: Context): Promise<void> {
  if (context.longTurns.size === 0) return
  const turns = [...context.longTurns].map(([key, turn]) => ({ key, ...turn }))
  const held = await stillHeld(context.sql, context.worker, turns)
  for (const turn of turns) {
    if (!held.has(turn.key)) turn.controller.abort(new Fenced('another worker has taken over'))
  }
}
