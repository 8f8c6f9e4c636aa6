/**
 * Activations of actors with short turns: claim the actors, run turns and read mailboxes until nothing is due, then release.
 *
 * Many actors share statements and transactions; this gives the throughput. Only a turn that is alone in its transaction
 * can fail. A shared transaction that goes wrong is rolled back, no message is blamed, and its turns run again alone.
 */

import { NeedsOperator } from '../platform/errors.ts'
import { claim, type Held, takeOver } from './claim-statements.ts'
import type { Context, Handover } from './context.ts'
import { givingUp, isSpent, shortHandler } from './handlers.ts'
import { claimAndRead, type Mailbox, readMailboxes, type WaitingMessage } from './mailbox-reads.ts'
import { errorText, retryDelayMs } from './retry.ts'
import { abandon, recordFailure, release } from './statements.ts'
import { commitTurns, TurnFailed, type Work } from './turn.ts'
import { type ActorKey, Fenced, kindOf, type Message, putOffMsOf } from './types.ts'

/** After this many failures in a row, every turn of the group runs alone. */
const MAX_FAILURES = 4

/** Runs the due, fresh messages of many actors. Heads that have failed before are handed over to run alone. */
export async function runTogether(
  context: Context,
  keys: readonly ActorKey[],
  handover: Handover,
): Promise<void> {
  const { batchMessages, fairShare } = context.options
  const group = new Group(context, handover, {
    messages: batchMessages,
    turns: fairShare,
    canShare: () => true,
  })
  await group.claim(keys)
  for (let failures = 0; group.size > 0; ) {
    const works = await group.sortOut()
    if (works.length === 0) continue
    try {
      const { released } = await commitTurns(context, works, context.options.batchTimeoutMs)
      group.complete(works, released)
      failures = 0
    } catch (error) {
      failures += 1
      if (error instanceof Fenced)
        context.metrics.turns.inc({ kind: kindOf(works[0]!.key), outcome: 'fenced' })
      // The first time it is fenced, the next read of the mailboxes shows which actors are lost; the others continue together.
      if (!(error instanceof Fenced) || failures > 1) await group.separate(works, error, failures)
    }
  }
}

interface Member {
  readonly held: Held
  /** As the claim read it. Null once it has been used. */
  mailbox: Mailbox | null
  turns: number
}

interface GroupShape {
  /** The most messages of one actor in a transaction. */
  readonly messages: number
  /** After this many turns an actor goes to the end of the line. */
  readonly turns: number
  /** False if the message must run alone. */
  readonly canShare: (head: Message) => boolean
}

/** The actors of one shared activation. An actor leaves when it is released, lost, or handed over. */
export class Group {
  readonly #held = new Map<ActorKey, Member>()

  constructor(
    private readonly context: Context,
    private readonly handover: Handover,
    private readonly shape: GroupShape,
  ) {}

  /** Actors that are still held. */
  get size(): number {
    return this.#held.size
  }

  /** Claims and reads the mailboxes at once. Actors that could not be claimed are left to others. */
  async claim(keys: readonly ActorKey[]): Promise<void> {
    const { sql, worker } = this.context
    for (const { mailbox, ...held } of await claimAndRead(sql, worker, keys, this.shape.messages))
      this.#held.set(held.key, { held, mailbox, turns: 0 })
    for (const key of keys) if (!this.#held.has(key)) this.handover.leave(key, 0)
  }

  /** Reads every mailbox and releases the actors that are lost, idle, tired or suspect. @returns the turns to run next */
  async sortOut(): Promise<readonly Work[]> {
    const { stopping } = this.context
    const mailboxes = await this.#look()
    const idle: (Held & { readonly lastSeq: number })[] = []
    const suspect: Held[] = []
    const tired: (Held & { readonly head: Message })[] = []
    const works: Work[] = []
    for (const { held, turns } of this.#held.values()) {
      const mailbox = mailboxes.get(held.key)
      const head = mailbox?.due[0]
      if (mailbox === undefined) this.#leave(held.key, 0)
      else if (head === undefined) idle.push({ ...held, lastSeq: mailbox.lastSeq })
      else if (stopping.aborted || turns >= this.shape.turns) tired.push({ ...held, head })
      else if (head.attempts > 0 || !this.shape.canShare(head)) suspect.push(held)
      else works.push(this.#work(held, mailbox))
    }
    await this.#letGo(idle, tired, suspect)
    return works.sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  /** To be called after COMMIT. */
  complete(works: readonly Work[], released: ReadonlySet<ActorKey>): void {
    for (const work of works) {
      const state = this.#held.get(work.key)
      if (state !== undefined) state.turns += work.messages.length
      if (released.has(work.key)) this.#leave(work.key, work.lastSeq)
    }
  }

  /** To be called after ROLLBACK. The failed turn continues alone; if it is unknown, or failures repeat, all turns do. */
  async separate(works: readonly Work[], error: unknown, failures: number): Promise<void> {
    const culprit = error instanceof TurnFailed && failures < MAX_FAILURES ? error.culprit : null
    await this.doAlone(culprit === null ? works : works.filter((work) => work.key === culprit))
  }

  /** Releases the actors; each continues alone. */
  async doAlone(some: readonly Held[]): Promise<void> {
    await abandon(this.context.sql, this.context.worker, some)
    for (const { key } of some) {
      // The activation alone also finds what wake-ups announced meanwhile; they must not start a shared one again.
      this.#leave(key, Number.POSITIVE_INFINITY)
      this.handover.later(key, 0)
    }
  }

  /** Every mailbox, as the claim read it or as it is now. Lost actors have none. */
  async #look(): Promise<ReadonlyMap<ActorKey, Mailbox>> {
    const { sql, worker } = this.context
    const known = new Map<ActorKey, Mailbox>()
    const unknown: Held[] = []
    for (const member of this.#held.values()) {
      if (member.mailbox === null) unknown.push(member.held)
      else known.set(member.held.key, member.mailbox)
      member.mailbox = null
    }
    if (unknown.length === 0) return known
    const read = await readMailboxes(sql, worker, unknown, this.shape.messages)
    return known.size === 0 ? read : new Map([...known, ...read])
  }

  #work(held: Held, mailbox: Mailbox): Work {
    const stop = mailbox.due.findIndex((message) => message.attempts > 0)
    const messages = stop === -1 ? mailbox.due : mailbox.due.slice(0, stop)
    const complete = stop === -1 && mailbox.complete
    return {
      ...held,
      organization: mailbox.organization,
      lastSeq: mailbox.lastSeq,
      messages,
      complete,
      handlerOf: (one) => shortHandler(this.context, one),
    }
  }

  async #letGo(
    idle: readonly (Held & { readonly lastSeq: number })[],
    tired: readonly (Held & { readonly head: Message })[],
    suspect: readonly Held[],
  ): Promise<void> {
    const { sql, worker } = this.context
    const released = await release(sql, worker, idle)
    for (const one of idle) if (released.has(one.key)) this.#leave(one.key, one.lastSeq)
    await abandon(sql, worker, tired)
    for (const one of tired) this.#leave(one.key, 0)
    if (tired.length > 0) this.handover.notifyAgain(tired.map(({ head }) => head))
    await this.doAlone(suspect)
  }

  #leave(key: ActorKey, seen: number): void {
    this.#held.delete(key)
    this.handover.leave(key, seen)
  }
}

/** Runs one actor with short turns, one message per transaction. Here a failed turn counts, and a message can be given up. */
export async function runAlone(
  context: Context,
  key: ActorKey,
  dead: boolean,
  handover: Handover,
): Promise<void> {
  const { sql, options } = context
  const held = await acquire(context, key, dead)
  for (let turns = 0; held !== null; turns++) {
    const mailbox = (await readMailboxes(sql, context.worker, [held], 1)).get(key)
    if (mailbox === undefined) return // fenced off
    const head = mailbox.due[0]
    if (head === undefined) {
      const released = await release(sql, context.worker, [{ ...held, lastSeq: mailbox.lastSeq }])
      if (released.has(key)) return handover.leave(key, mailbox.lastSeq)
      continue
    }
    if (turns >= options.fairShare || context.stopping.aborted)
      return goToTheEnd(context, held, head, handover)
    try {
      const { released } = await commitTurns(
        context,
        [aloneWork(context, held, mailbox, head)],
        options.turnTimeoutMs,
      )
      if (released.has(key)) return handover.leave(key, mailbox.lastSeq)
    } catch (error) {
      const cause = error instanceof TurnFailed ? error.cause : error
      return failTurn(context, held, head, cause, handover)
    }
  }
}

/** Claims the actor. `dead`: takes it from a dead worker. @returns null if another worker has it */
async function acquire(context: Context, key: ActorKey, dead: boolean): Promise<Held | null> {
  const { sql, worker, options } = context
  if (dead) return takeOver(sql, worker, key, options.leaseMs)
  return (await claim(sql, worker, [key]))[0] ?? null
}

/** The head of a mailbox as the only turn of its transaction. */
export function aloneWork(context: Context, held: Held, mailbox: Mailbox, head: WaitingMessage): Work {
  const spent = isSpent(context, head)
  return {
    ...held,
    organization: mailbox.organization,
    lastSeq: mailbox.lastSeq,
    messages: [head],
    complete: mailbox.complete,
    handlerOf: (message) => (spent ? givingUp(context, head) : shortHandler(context, message)),
  }
}

/** Fairness: releases the actor although work is waiting, and sends a new wake-up, which lands behind all others. */
export async function goToTheEnd(
  context: Context,
  held: Held,
  head: Message,
  handover: Handover,
): Promise<void> {
  await abandon(context.sql, context.worker, [held])
  handover.notifyAgain([head])
}

/** Counts the failure, releases the actor, and schedules its retry. What is not the fault of the message counts once, so that the message waits for it. */
export async function failTurn(
  context: Context,
  held: Held,
  message: WaitingMessage,
  error: unknown,
  handover: Handover,
): Promise<void> {
  const { key, type, seq, attempts } = message
  const kind = kindOf(key)
  const putOffMs = putOffMsOf(error)
  const outcome = error instanceof Fenced ? 'fenced' : putOffMs === null ? 'failed' : 'put_off'
  context.metrics.turns.inc({ kind, outcome })
  if (error instanceof Fenced) return
  const isFree = putOffMs !== null || error instanceof NeedsOperator
  const tried = isFree ? Math.max(attempts, 1) : attempts + 1
  const spent = isSpent(context, { ...message, attempts: tried }) && !isSpent(context, message)
  const pauseMs = retryDelayMs(isFree ? Number.POSITIVE_INFINITY : attempts, context.options, Math.random)
  const delayMs = spent ? 0 : (putOffMs ?? pauseMs)
  if (putOffMs === null)
    context.log.warn({ key, type, seq, attempt: tried, retryInMs: delayMs, err: error }, 'turn failed')
  else context.log.info({ key, type, seq, retryInMs: delayMs, err: errorText(error) }, 'turn put off')
  await recordFailure(context.sql, context.worker, held, { seq, error: errorText(error), delayMs, isFree })
  handover.leave(key, 0)
  handover.later(key, delayMs)
}
