/**
 * The sweep. With it, a lost wake-up, a dead worker or a failed clean-up costs seconds instead of messages.
 *
 * Every worker sweeps. It takes as many actors as it has room for and sends wake-ups for the rest. If a sweep finds as many as
 * its limit allows, the next one begins as soon as this worker has little left to do. So a backlog without wake-ups, such as
 * that of a night without workers, drains at the pace of the workers and not of the sweeps.
 */
import type { Context } from './context.ts'
import type { Dispatcher } from './dispatcher.ts'
import { jittered, pause } from './pause.ts'
import { kindOf, type WakeUp } from './types.ts'
import { type Due, removeLostWorkers, sweep, sweepByKind } from './worker-statements.ts'

/** The largest part of a connection's time that sweeps may use: a large backlog makes sweeps rarer. */
const MAX_LOAD = 0.1
/** The same while the worker has no other work than what the sweeps find. */
const MAX_LOAD_IDLE = 0.3
/** The longest rest, in pauses. A slow sweep may have been an outage, and after an outage sweeps are needed most. */
const MAX_REST = 10

/** The interval at which a worker with a backlog checks whether it will soon have nothing to do. */
const HUNGRY_POLL_MS = 2
/** How many checks in a row must find room: between two activations there is room for a moment, until wake-ups are read. */
const HUNGRY_POLLS = 3

/** Sweeps until the context stops. The first sweep begins at once, because wake-ups may have been sent while no worker listened. */
export async function keepSweeping(context: Context, dispatcher: Dispatcher): Promise<void> {
  const { stopping, options, log } = context
  while (!stopping.aborted) {
    const started = performance.now()
    let goOn = false
    let tookMs = 0
    try {
      goOn = await sweepOnce(context, dispatcher)
      tookMs = performance.now() - started
    } catch (error) {
      log.warn({ err: error }, 'sweep failed')
    }
    const restMs = Math.min(tookMs / (goOn ? MAX_LOAD_IDLE : MAX_LOAD), options.sweepMs * MAX_REST)
    const next = performance.now() + Math.max(jittered(options.sweepMs), restMs)
    if (goOn) {
      await pause(restMs, stopping)
      for (let polls = 0; polls < HUNGRY_POLLS && performance.now() < next && !stopping.aborted; ) {
        await pause(HUNGRY_POLL_MS, stopping)
        polls = dispatcher.isHungry('short') ? polls + 1 : 0
      }
    } else await pause(next - performance.now(), stopping)
  }
}

/**
 * One sweep: takes the heads that fit and sends wake-ups for the rest. If the oldest heads reach the limit, it asks once more,
 * for the kinds that had less than their share of them and have room. So a backlog of one pool does not hide the others.
 * @returns true if it found short turns, taken or not, and there may be more.
 */
export async function sweepOnce(context: Context, dispatcher: Dispatcher): Promise<boolean> {
  const { sql, worker, options, definitions } = context
  const kinds = [...definitions.keys()]
  const ask = { worker, leaseMs: options.leaseMs, limit: options.sweepLimit }
  const oldest = await sweep(sql, { ...ask, kinds, running: dispatcher.known() })
  let found = take(context, dispatcher, oldest)
  const isFull = oldest.length === options.sweepLimit
  if (isFull) {
    const share = Math.ceil(options.sweepLimit / kinds.length)
    const byKind = Map.groupBy(oldest, ({ key }) => kindOf(key))
    const hidden = [...definitions.values()]
      .filter(({ kind, pool }) => (byKind.get(kind)?.length ?? 0) < share && dispatcher.free(pool) > 0)
      .map(({ kind }) => kind)
    const more = { ...ask, kinds: hidden, running: dispatcher.known(), limit: share }
    if (hidden.length > 0) found += take(context, dispatcher, await sweepByKind(sql, more))
  }
  await removeLostWorkers(sql)
  return found > 0 && isFull
}

/**
 * Takes the heads that fit and sends wake-ups for the rest. In a pool of long turns it sends one only if the first wake-up is
 * probably lost: messages wait in a queue there for seconds, and a second wake-up would cause a useless claim.
 *
 * @returns how many short turns are among the heads. Heads that did not fit count as well: their wake-ups may have filled this
 * worker before the sweep did, and more of the same may wait behind them.
 */
function take(context: Context, dispatcher: Dispatcher, due: readonly Due[]): number {
  const rest: WakeUp[] = []
  let found = 0
  for (const { key, seq, type, organization, state, isOverdue } of due) {
    const pool = context.definitions.get(kindOf(key))?.pool
    if (pool === undefined) continue
    if (pool === 'short') found += 1
    if (state !== 'idle' || dispatcher.free(pool) > 0) {
      dispatcher.offer({ key, seq, organization }, state === 'dead')
    } else if (isOverdue || pool === 'short') rest.push({ key, seq, type, organization })
  }
  if (rest.length > 0) context.notifier.notify(rest)
  return found
}
