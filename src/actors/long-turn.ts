/**
 * Activations of actors with long turns: one message, any I/O, no transaction held meanwhile.
 *
 * The rule: what the turn does to our rows goes through `step` and `finish`, which are fenced. What it does elsewhere
 * (objects, mail, child processes) is fenced by names that are never reused, and ends when the signal is aborted.
 */
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { aloneWork, failTurn, goToTheEnd } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { type Claimed, claimAndRead, type Mailbox, readMailboxes, type WaitingMessage } from './head.ts'
import { isSpent, longHandler, longTurnTimeoutMs } from './perform.ts'
import { markResumes } from './running.ts'
import { assertHead, fence, type Held, release, remove, settle, takeOver } from './statements.ts'
import { commitTurns, limitStatements, sendAll, TurnFailed, TurnTimeout, within } from './turn.ts'
import { type ActorKey, Fenced, type Letter, type LongTurn, type Send } from './types.ts'

/** Does one message of an actor; where more is due, the actor goes to the end of the line. */
export async function runLong(
  context: Context,
  key: ActorKey,
  dead: boolean,
  handover: Handover,
): Promise<void> {
  const claimed = await acquire(context, key, dead)
  if (claimed === null) return
  const { mailbox: found, ...held } = claimed
  for (let turns = 0; ; turns++) {
    const mailbox = turns === 0 && found !== null ? found : await look(context, held)
    if (mailbox === undefined) return // fenced off
    const head = mailbox.due[0]
    if (head === undefined) {
      const released = await release(context.sql, context.worker, [{ ...held, mail: mailbox.mail }])
      if (released.has(key)) return handover.leave(key, mailbox.mail)
      continue
    }
    if (turns > 0 || context.stopping.aborted) return goToTheEnd(context, held, head, handover)
    try {
      if (isSpent(context, head)) {
        await commitTurns(context, [aloneWork(context, held, mailbox, head)], context.options.turnTimeoutMs)
      } else {
        const outcome = await runTurn(context, held, mailbox, head)
        if (outcome === 'broken_off') return goToTheEnd(context, held, head, handover)
        if (outcome === 'released') return handover.leave(key, mailbox.mail)
      }
    } catch (error) {
      return failTurn(context, held, head, error instanceof TurnFailed ? error.cause : error, handover)
    }
  }
}

/** The actor in our hands, or null where somebody else has it. `dead`: to be taken from a worker that died. */
async function acquire(context: Context, key: ActorKey, dead: boolean): Promise<Claimed | null> {
  const { sql, worker, options } = context
  if (!dead) return (await claimAndRead(sql, worker, [key], 1))[0] ?? null
  const held = await takeOver(sql, worker, key, options.leaseMs)
  return held && { ...held, mailbox: null }
}

async function look({ sql, worker }: Context, held: Held): Promise<Mailbox | undefined> {
  return (await readMailboxes(sql, worker, [held], 1)).get(held.key)
}

/** `released`: the actor as well, since nothing else was due. `broken_off`: because the worker stops, which is not a failure. */
async function runTurn(
  context: Context,
  held: Held,
  mailbox: Mailbox,
  message: WaitingMessage,
): Promise<'done' | 'released' | 'broken_off'> {
  const { longTurns, stopping, running } = context
  const kind = message.key.split(':')[0] ?? ''
  const controller = new AbortController()
  const turn = new Turn(context, held, mailbox, message, AbortSignal.any([controller.signal, stopping]))
  longTurns.set(held.key, { epoch: held.epoch, controller })
  const started = performance.now()
  try {
    const handler = longHandler(context, message)
    running.set(message)
    const handled = running.inNameOf(message, () => handler(turn))
    await within(longTurnTimeoutMs(context, message), handled)
    if (!turn.finished) throw new Error('the handler ended without finish')
  } catch (error) {
    if (!turn.finished) {
      if (stopping.aborted && !(error instanceof TurnTimeout)) return 'broken_off'
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
  return turn.released ? 'released' : 'done'
}

class Turn implements LongTurn {
  readonly log
  #state: 'open' | 'finishing' | 'finished' | 'over' = 'open'
  #released = false

  constructor(
    private readonly context: Context,
    private readonly held: Held,
    private readonly mailbox: Mailbox,
    readonly message: WaitingMessage,
    readonly signal: AbortSignal,
  ) {
    const { key, type, seq } = message
    this.log = context.log.child({ key, type, seq })
  }

  get organization(): string {
    return this.mailbox.organization
  }

  get finished(): boolean {
    return this.#state === 'finished'
  }

  /** True where the actor was given back with the end of the turn. */
  get released(): boolean {
    return this.#released
  }

  async step<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over')
    const { held, message, context } = this
    const value = await this.#commit(work, async (tx) => {
      await Promise.all([fence(tx, context.worker, [held]), assertHead(tx, message)])
    })
    this.#resumed()
    return value
  }

  async finish<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over, or was finished before')
    this.#state = 'finishing'
    try {
      const value = await this.#commit(work, (tx) => this.#settle(tx))
      this.#state = 'finished'
      this.#watchNoMore()
      this.#resumed()
      return value
    } catch (error) {
      this.#state = 'over'
      throw error
    }
  }

  /** Whoever has the actor from now on takes nothing away from this turn. */
  #watchNoMore(): void {
    const { context, held } = this
    if (context.longTurns.get(held.key)?.epoch === held.epoch) context.longTurns.delete(held.key)
  }

  /** Refuses whatever an abandoned handler still tries. */
  end(): void {
    if (this.#state !== 'finished') this.#state = 'over'
  }

  async read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over')
    const { sql, options } = this.context
    const reading = (tx: Tx) => {
      limitStatements(tx, this.context, options.turnTimeoutMs)
      return work(this.#marked(tx))
    }
    const value = await transaction(sql, reading, 'read only')
    this.#resumed()
    return value
  }

  /** The handler goes on from here. */
  readonly #resumed = () => this.context.running.set(this.message)

  /** As the handler gets it. */
  #marked(tx: Tx): Tx {
    this.#resumed()
    return markResumes(tx, this.#resumed)
  }

  /** Fence, removal and, where nothing else is due, release. */
  async #settle(tx: Tx): Promise<void> {
    const { held, mailbox, message, context } = this
    const [released] = await Promise.all([
      settle(tx, context.worker, [{ ...held, mail: mailbox.complete ? mailbox.mail : null }]),
      remove(tx, [message]),
    ])
    this.#released = released.has(held.key)
  }

  /** `check`: what has to hold of the actor, asked after everything else. */
  async #commit<T>(work: (tx: Tx, send: Send) => Promise<T>, check: (tx: Tx) => Promise<void>): Promise<T> {
    const { sql, doorbell, options } = this.context
    const { value, envelopes } = await transaction(sql, async (tx) => {
      const letters: Letter[] = []
      limitStatements(tx, this.context, options.turnTimeoutMs)
      const result = await work(this.#marked(tx), async (more) => void letters.push(...more))
      const sent = await sendAll(tx, letters)
      await check(tx)
      return { value: result, envelopes: sent }
    })
    if (envelopes.length > 0) doorbell.ring(envelopes)
    return value
  }
}
