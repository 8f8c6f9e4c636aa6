/**
 * The sweep: what makes a lost notifier, a dead worker and a failed clean-up cost seconds instead of messages.
 *
 * Every worker sweeps. It takes what it has room for itself and notifies of the rest. Where a sweep has found as much as it
 * may, the next one comes as soon as this worker has little left to do: so a backlog that no notifier has notified of, such as
 * that of a night without workers, drains at the pace of the workers and not at that of the sweeps.
 */
import type { Context } from './context.ts'
import type { Dispatcher } from './dispatcher.ts'
import { jittered, pause } from './pause.ts'
import { kindOf, type WakeUp } from './types.ts'
import { type Due, removeLostWorkers, sweep, sweepByKind } from './worker-statements.ts'

/** A sweep may use this part of a connection's time at most: a large backlog makes sweeps rarer. */
const MAX_LOAD = 0.1
/** The same while its worker has nothing to do but what it finds. */
const MAX_LOAD_IDLE = 0.3
/** In pauses: what looked slow may have been an outage, after which sweeps are needed most. */
const MAX_REST = 10

/** How often a worker with a backlog looks whether it will soon have nothing to do. */
const HUNGRY_POLL_MS = 2
/** So often in a row: between two activations there is room for a moment, until the notifier has been heard. */
const HUNGRY_POLLS = 3

/** Sweeps until the context stops; the first time at once, for what was notified when nobody listened. */
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
 * One sweep: takes what fits, notifies of the rest. Where the oldest heads are as many as it may take, it asks once more for
 * the kinds that had less than their share of them and have room: a backlog of one pool hides none of another.
 * @returns true where it has found short turns, taken or not, and there may be more.
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
 * What does not fit is notified of. In a pool of long turns only when its notifier must be lost: there messages wait in a queue for seconds,
 * and a second notify of one of them is a claim for nothing.
 *
 * @returns how many short turns are among them. Those that did not fit count: what was notified of them may have filled this
 * worker before the sweep did, and there is more of the same behind them.
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
