/**
 * The actor of an erasure: has every feature erase the person, step by step.
 *
 * The rule: a turn may end anywhere. Progress is committed with each step, so the next turn goes on where the last step
 * ended, and one that takes long gives way to others by writing to itself.
 */
import type { ActorDefinition, LongTurn, Send } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import type { Tx } from '../platform/db/pool.ts'
import * as store from './erasure.store.ts'
import { createEraser, ERASURE_KINDS, type ErasureReach } from './erasure.ts'

/** A kind of which nothing was found is said to be none. */
const NONE: store.Counts = Object.fromEntries(ERASURE_KINDS.map((kind) => [kind, 0]))

/** Of one turn: then other long turns have theirs. */
const TURN_MS = 10_000

/** `erase`: the person's row is gone, and the erasure says what is looked for. What fails in the end is among the dead letters. */
export function erasureActor(
  { clock }: Pick<Deps, 'clock'>,
  reaches: readonly ErasureReach[],
): ActorDefinition {
  return {
    kind: 'erasure',
    pool: 'long',
    maxAttempts: 20,
    handlers: { erase: (turn) => erase(clock, reaches, turn) },
  }
}

async function erase(clock: Deps['clock'], reaches: readonly ErasureReach[], turn: LongTurn): Promise<void> {
  const { id, key } = turn.message
  const until = clock.now().getTime() + TURN_MS
  let finished = false
  while (!finished && clock.now().getTime() < until) {
    turn.signal.throwIfAborted()
    finished = await turn.step((tx, send) => step(tx, send, id, reaches))
  }
  if (finished) turn.log.info({ erasureId: id }, 'erasure finished')
  await turn.finish(async (_, send) => {
    if (!finished) await send([{ key, type: 'erase' }])
  })
}

/** @returns true where nothing is left to do */
async function step(tx: Tx, send: Send, id: string, reaches: readonly ErasureReach[]): Promise<boolean> {
  const erasure = await store.lockOpenErasure(tx, id)
  if (erasure === null) return true
  const { terms, progress } = erasure
  const place = Math.max(
    reaches.findIndex(({ name }) => name === progress?.reach),
    0,
  )
  const reach = reaches[place]
  const from = reach?.name === progress?.reach ? (progress?.from ?? null) : null
  const person = { ...erasure, ...terms, eraser: createEraser(terms) }
  const result = reach === undefined ? { next: null, counts: {} } : await reach.step(tx, person, from, send)
  const counts = sum(erasure.counts, result.counts)
  const following = result.next === null ? reaches[place + 1] : reach
  if (following === undefined) {
    await store.finishErasure(tx, erasure, { ...NONE, ...counts })
    return true
  }
  await store.saveErasure(tx, erasure, { reach: following.name, from: result.next }, counts)
  return false
}

function sum(a: store.Counts, b: store.Counts): store.Counts {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof store.Counts)[]
  return Object.fromEntries(names.map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]))
}
