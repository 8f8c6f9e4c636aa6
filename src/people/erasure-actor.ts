/**
 * The actor of an erasure. It lets every feature erase the person, step by step.
 *
 * A turn may end anywhere: each step commits its progress, and the next turn continues there. A long erasure ends its turn
 * after a while and sends itself a message, so that other long turns get their share.
 */
import { defineActor } from '../actors/declaration.ts'
import type { ActorDefinition, LongTurn, Send } from '../actors/types.ts'
import type { Deps } from '../container.ts'
import { erasureMessages } from '../messages/erasure.ts'
import type { Tx } from '../platform/db/pool.ts'
import * as store from './erasure.store.ts'
import { createEraser, ERASURE_KINDS, type ErasureReach } from './erasure.ts'

/** Kinds without a finding are counted as zero. */
const NONE: store.Counts = Object.fromEntries(ERASURE_KINDS.map((kind) => [kind, 0]))

/** Time limit of one turn. */
const TURN_MS = 10_000

/** Handles `erase`, after the person's row is gone. The erasure's row holds the search terms. Failures end as dead letters. */
export function erasureActor(
  { clock }: Pick<Deps, 'clock'>,
  reaches: readonly ErasureReach[],
): ActorDefinition {
  return defineActor(erasureMessages, {
    maxAttempts: 20,
    handlers: { erase: (turn) => erase(clock, reaches, turn) },
  })
}

async function erase(clock: Deps['clock'], reaches: readonly ErasureReach[], turn: LongTurn): Promise<void> {
  const { id } = turn.message
  const until = clock.now().getTime() + TURN_MS
  let finished = false
  while (!finished && clock.now().getTime() < until) {
    turn.signal.throwIfAborted()
    finished = await turn.step((tx, send) => step(tx, send, id, reaches))
  }
  if (finished) turn.log.info({ erasureId: id }, 'erasure finished')
  await turn.finish(async (_, send) => {
    if (!finished) await send([erasureMessages.message(id, 'erase')])
  })
}

/** @returns true if nothing is left to do */
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
