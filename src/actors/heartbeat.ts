/**
 * The heartbeat of one worker, from its own event loop: a stuck thread must look dead.
 *
 * The rule: the lease only says who may try; what makes a takeover safe is the epoch. So a late heartbeat is no
 * error, and all that follows from it is that long turns whose actor was taken away are told to end. But every statement is
 * answered or given up in time (`platform/db/pool.ts`): where none of the beats is, the connections of this thread are lost to
 * it for good, and it ends, so that another takes its place.
 */
import type { Context } from './context.ts'
import { pause } from './pause.ts'
import { stillHeld } from './statements.ts'
import { Fenced } from './types.ts'
import { beat } from './worker-statements.ts'

/** In leases: longer than a statement takes to be given up, and the connection after it to be opened or given up. */
const PATIENCE = 4

/**
 * Beats until the context stops. The first beat is the caller's, since claims need the worker's row.
 * @throws Error where no beat has succeeded or failed for so long that none will
 */
export async function keepBeating(context: Context, stopped: AbortSignal): Promise<void> {
  const { heartbeatMs, leaseMs } = context.options
  // Beats are counted, not time: after a pause of the whole process, what came in meanwhile is heard first.
  const most = Math.ceil((PATIENCE * leaseMs) / (2 * heartbeatMs)) // each takes two pauses
  let unsettled = 0
  for (;;) {
    await pause(heartbeatMs, stopped)
    if (stopped.aborted) return
    if (unsettled++ >= most) {
      context.running.blameNobody()
      throw new Error(`none of ${most} heartbeats was answered or given up`)
    }
    const settled = beatOnce(context).then(() => {
      unsettled = 0
    })
    // A beat on a connection that was cut without a word is not waited for: the next one takes another.
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
