/**
 * The sweep: what makes a lost doorbell, a dead worker and a failed clean-up cost seconds instead of messages.
 *
 * Every worker sweeps. It takes what it has room for itself, so that work goes on at the pace of the sweep when no
 * doorbell works at all, and rings for the rest.
 */
import type { Context } from './context.ts'
import type { Dispatcher } from './dispatcher.ts'
import { jittered, pause } from './pause.ts'
import { ACTOR_POOLS, type Envelope, kindOf } from './types.ts'
import { removeLostWorkers, sweep } from './worker-statements.ts'

/** A sweep may use this part of a connection's time at most: a large backlog makes sweeps rarer. */
const MAX_LOAD = 0.1

/** Sweeps until the context stops; the first time at once, for what was rung when nobody listened. */
export async function keepSweeping(context: Context, dispatcher: Dispatcher): Promise<void> {
  const { stopping, options, log } = context
  while (!stopping.aborted) {
    const started = performance.now()
    try {
      await sweepOnce(context, dispatcher)
    } catch (error) {
      log.warn({ err: error }, 'sweep failed')
    }
    const tookMs = performance.now() - started
    await pause(Math.max(jittered(options.sweepMs), tookMs / MAX_LOAD), stopping)
  }
}

/** One sweep: takes what fits, rings for the rest. */
export async function sweepOnce(context: Context, dispatcher: Dispatcher): Promise<void> {
  const { sql, worker, options, definitions } = context
  const due = await sweep(sql, {
    worker,
    leaseMs: options.leaseMs,
    kinds: [...definitions.keys()],
    running: dispatcher.known(),
    limit: options.sweepLimit,
  })
  const rest: Envelope[] = []
  for (const { key, seq, type, state } of due) {
    const kind = kindOf(key)
    if (kind === null) continue
    if (state !== 'idle' || dispatcher.free(ACTOR_POOLS[kind]) > 0)
      dispatcher.offer(key, seq, state === 'dead')
    else rest.push({ key, seq, type })
  }
  if (rest.length > 0) context.doorbell.ring(rest)
  await removeLostWorkers(sql)
}
