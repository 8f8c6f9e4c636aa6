/**
 * The heartbeat of one worker, from its own event loop: a stuck thread must look dead.
 *
 * The rule: the lease only says who may try; what makes a takeover safe is the epoch. So a late heartbeat is no
 * error, and all that follows from it is that long turns whose actor was taken away are told to end.
 */
import type { Context } from './context.ts'
import { pause } from './pause.ts'
import { stillHeld } from './statements.ts'
import { Fenced } from './types.ts'
import { beat } from './worker-statements.ts'

/** Beats until the context stops. The first beat is the caller's, since claims need the worker's row. */
export async function keepBeating(context: Context, stopped: AbortSignal): Promise<void> {
  for (;;) {
    await pause(context.options.heartbeatMs, stopped)
    if (stopped.aborted) return
    // A beat on a connection that was cut without a word is not waited for: the next one takes another.
    await Promise.race([beatOnce(context), pause(context.options.heartbeatMs, stopped)])
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
