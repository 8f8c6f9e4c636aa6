/**
 * The actor of an erasure. It lets every feature erase the person, step by step, and pass by pass (erasure.ts).
 *
 * A turn may end anywhere: each step commits its progress, and the next turn continues there. A long erasure ends its turn
 * after a while and sends itself a message, so that other long turns get their share. A wait is such a message with a delay.
 */
import { defineActor } from '../actors/declaration.ts'
import { runningTurns, stillRunning } from '../actors/running-turns.ts'
import type { ActorDefinition, LongTurn, Send } from '../actors/types.ts'
import type { Deps } from '../kernel/deps.ts'
import { erasureMessages } from '../kernel/messages/erasure.ts'
import { countOpen, openTransactions } from '../platform/db/open-transactions.ts'
import type { Tx } from '../platform/db/pool.ts'
import * as store from './erasure.store.ts'
import { createEraser, ERASURE_KINDS, type ErasedPerson, type ErasureReach } from './erasure.ts'
import * as rules from './erasure-passes.rules.ts'

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
  const now = () => clock.now().getTime()
  const until = now() + TURN_MS
  let state: StepEnd = 'more'
  while (state === 'more' && now() < until) {
    turn.signal.throwIfAborted()
    state = await turn.step((tx, send) => step(tx, send, id, reaches, now()))
  }
  if (state === 'finished') turn.log.info({ erasureId: id }, 'erasure finished')
  await turn.finish(async (_, send) => {
    if (state === 'finished') return
    await send([erasureMessages.message(id, 'erase', typeof state === 'number' ? { delayMs: state } : {})])
  })
}

/** A number: milliseconds to wait. */
type StepEnd = 'finished' | 'more' | number

async function step(
  tx: Tx,
  send: Send,
  id: string,
  reaches: readonly ErasureReach[],
  now: number,
): Promise<StepEnd> {
  const erasure = await store.lockOpenErasure(tx, id)
  if (erasure === null) return 'finished'
  const { terms, progress } = erasure
  const pass = progress?.pass ?? 1
  const person = { ...erasure, ...terms, erasureId: id, eraser: createEraser(terms), pass }
  if (progress?.wait != null) return wait(tx, erasure, reaches, person, now)
  const place = Math.max(
    reaches.findIndex(({ name }) => name === progress?.reach),
    0,
  )
  const reach = reaches[place]
  const from = reach?.name === progress?.reach ? (progress?.from ?? null) : null
  const result = reach === undefined ? { next: null, counts: {} } : await reach.step(tx, person, from, send)
  const counts = sum(erasure.counts, result.counts)
  const hasChanged = result.changed ?? Object.values(result.counts).some((count) => count > 0)
  const changed = (progress?.changed ?? false) || hasChanged
  const following = result.next === null ? reaches[place + 1] : reach
  if (following !== undefined) {
    await store.saveErasure(tx, erasure, { reach: following.name, from: result.next, pass, changed }, counts)
    return 'more'
  }
  if (!rules.needsAnotherPass(pass, changed)) return finish(tx, erasure, reaches, person, counts)
  const running = await runningTurns(tx, erasure.organizationId, erasureMessages.key(id))
  const owned: rules.OwnActors[] = []
  for (const one of reaches) if (one.ownActors !== undefined) owned.push(await one.ownActors(tx, person))
  const turns = running.filter(([key]) => rules.mayNamePerson(key, owned))
  const waits = { since: now, transactions: await openTransactions(tx), turns }
  const next = { reach: reaches[0]?.name ?? '', from: null, pass: pass + 1, changed: false, wait: waits }
  await store.saveErasure(tx, erasure, next, counts)
  return 'more'
}

/** Looks whether what the erasure waits for has ended. */
async function wait(
  tx: Tx,
  erasure: store.OpenErasure,
  reaches: readonly ErasureReach[],
  person: ErasedPerson,
  now: number,
): Promise<StepEnd> {
  const progress = erasure.progress as store.Progress & { readonly wait: store.Wait }
  const { since, transactions, turns } = progress.wait
  const { open, writing } = await countOpen(tx, transactions)
  const running = await stillRunning(tx, turns)
  let awaited = false
  for (const reach of reaches) awaited ||= (await reach.isAwaited?.(tx, person)) ?? false
  const waitedMs = now - since
  const isOver = rules.isWaitOver({ waitedMs, open, writing, turns: running.length, awaited })
  const left = isOver ? null : { ...progress.wait, turns: running }
  await store.saveErasure(tx, erasure, { ...progress, wait: left }, erasure.counts)
  return isOver ? 'more' : rules.pauseMs(waitedMs)
}

async function finish(
  tx: Tx,
  erasure: store.OpenErasure,
  reaches: readonly ErasureReach[],
  person: ErasedPerson,
  counts: store.Counts,
): Promise<StepEnd> {
  for (const reach of reaches) await reach.finish?.(tx, person)
  await store.finishErasure(tx, erasure, { ...NONE, ...counts })
  return 'finished'
}

function sum(a: store.Counts, b: store.Counts): store.Counts {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])] as (keyof store.Counts)[]
  return Object.fromEntries(names.map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]))
}
