/**
 * Activations of actors with long turns: one message, any I/O, no transaction held meanwhile.
 *
 * The rule: what the turn does to our rows goes through `step` and `finish`, which are fenced. What it does elsewhere
 * (objects, mail, child processes) is fenced by names that are never reused, and ends when the signal is aborted.
 */
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { acquire, aloneWork, failTurn, goToTheEnd } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { readMailboxes, type WaitingMessage } from './head.ts'
import { isSpent, longHandler, longTurnTimeoutMs } from './perform.ts'
import { assertHead, fence, type Held, release, remove } from './statements.ts'
import { commitTurns, limitStatements, sendAll, TurnFailed, TurnTimeout, within } from './turn.ts'
import { type ActorKey, Fenced, type Letter, type LongTurn, type Send } from './types.ts'

/** Does one message of an actor; where more is due, the actor goes to the end of the line. */
export async function runLong(
  context: Context,
  key: ActorKey,
  dead: boolean,
  handover: Handover,
): Promise<void> {
  const held = await acquire(context, key, dead)
  for (let turns = 0; held !== null; turns++) {
    const mailbox = (await readMailboxes(context.sql, context.worker, [held], 1)).get(key)
    if (mailbox === undefined) return // fenced off
    const head = mailbox.due[0]
    if (head === undefined) {
      const released = await release(context.sql, context.worker, [{ ...held, mail: mailbox.mail }])
      if (released.has(key)) return handover.leave(key, mailbox.mail)
      continue
    }
    if (turns > 0 || context.stopping.aborted) return goToTheEnd(context, held, head)
    try {
      if (isSpent(context, head)) {
        await commitTurns(context, [aloneWork(context, held, mailbox, head)], context.options.turnTimeoutMs)
      } else if (!(await runTurn(context, held, head))) return goToTheEnd(context, held, head)
    } catch (error) {
      return failTurn(context, held, head, error instanceof TurnFailed ? error.cause : error, handover)
    }
  }
}

/** @returns false where the turn was broken off because the worker stops: not a failure. */
async function runTurn(context: Context, held: Held, message: WaitingMessage): Promise<boolean> {
  const { longTurns, stopping } = context
  const kind = message.key.split(':')[0] ?? ''
  const controller = new AbortController()
  const turn = new Turn(context, held, message, AbortSignal.any([controller.signal, stopping]))
  longTurns.set(held.key, { epoch: held.epoch, controller })
  const started = performance.now()
  try {
    const handler = longHandler(context, message)
    await within(longTurnTimeoutMs(context, message), handler(turn))
    if (!turn.finished) throw new Error('the handler ended without finish')
  } catch (error) {
    if (!turn.finished) {
      if (stopping.aborted && !(error instanceof TurnTimeout)) return false
      throw error
    }
    context.log.warn({ key: message.key, type: message.type, err: error }, 'error after the end of a turn')
  } finally {
    turn.end()
    controller.abort(new Fenced('the turn is over'))
    longTurns.delete(held.key)
  }
  context.metrics.turns.inc({ kind, outcome: 'done' })
  context.metrics.turnSeconds.observe({ kind }, (performance.now() - started) / 1_000)
  return true
}

class Turn implements LongTurn {
  readonly log
  #state: 'open' | 'finishing' | 'finished' | 'over' = 'open'

  constructor(
    private readonly context: Context,
    private readonly held: Held,
    readonly message: WaitingMessage,
    readonly signal: AbortSignal,
  ) {
    const { key, type, seq } = message
    this.log = context.log.child({ key, type, seq })
  }

  get finished(): boolean {
    return this.#state === 'finished'
  }

  async step<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over')
    return this.#commit(work, false)
  }

  async finish<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over, or was finished before')
    this.#state = 'finishing'
    try {
      const value = await this.#commit(work, true)
      this.#state = 'finished'
      return value
    } catch (error) {
      this.#state = 'over'
      throw error
    }
  }

  /** Refuses whatever an abandoned handler still tries. */
  end(): void {
    if (this.#state !== 'finished') this.#state = 'over'
  }

  async #commit<T>(work: (tx: Tx, send: Send) => Promise<T>, last: boolean): Promise<T> {
    const { sql, doorbell, options, worker } = this.context
    const { value, envelopes } = await transaction(sql, async (tx) => {
      const letters: Letter[] = []
      limitStatements(tx, this.context, options.turnTimeoutMs)
      const result = await work(tx, async (more) => void letters.push(...more))
      const sent = await sendAll(tx, letters)
      await Promise.all([
        fence(tx, worker, [this.held]),
        last ? remove(tx, [this.message]) : assertHead(tx, this.message),
      ])
      return { value: result, envelopes: sent }
    })
    if (envelopes.length > 0) doorbell.ring(envelopes)
    return value
  }
}
