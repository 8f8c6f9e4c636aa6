/**
 * Activations of actors with long turns: one message, any I/O, and no open transaction meanwhile.
 *
 * A turn writes to our rows through `step` and `finish`, which are fenced. For its effects elsewhere (objects, mail, child
 * processes) it uses names that are never reused, and it ends them when the signal is aborted.
 */
import type { Tx } from '../platform/db/pool.ts'
import { transaction } from '../platform/db/transaction.ts'
import { aloneWork, failTurn, goToTheEnd } from './activation.ts'
import { type Held, takeOver } from './claim-statements.ts'
import type { Context, Handover } from './context.ts'
import { isSpent, longHandler, longTurnTimeoutMs } from './handlers.ts'
import {
  type Claimed,
  claimAndRead,
  type Mailbox,
  readMailboxes,
  type WaitingMessage,
} from './mailbox-reads.ts'
import { markResumes } from './running.ts'
import { assertHead, fence, fenceAndRelease, release, remove } from './statements.ts'
import { commitTurns, limitStatements, sendAll, TurnFailed, TurnTimeout, within } from './turn.ts'
import {
  type ActorKey,
  Fenced,
  type GroupTurn,
  kindOf,
  type LongTurn,
  type Message,
  type NewMessage,
  type Send,
} from './types.ts'

/** The message that a long turn runs, with its actor. */
export interface LongWork extends Held {
  readonly organization: string
  /** The number of its actor's newest message. */
  readonly lastSeq: number
  /** True if no other message is due: the end of the turn releases the actor. */
  readonly complete: boolean
  readonly message: Message
}

/** Handles one message of an actor. If more messages are due, the actor goes to the end of the line. */
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
      const released = await release(context.sql, context.worker, [{ ...held, lastSeq: mailbox.lastSeq }])
      if (released.has(key)) return handover.leave(key, mailbox.lastSeq)
      continue
    }
    if (turns > 0 || context.stopping.aborted) return goToTheEnd(context, held, head, handover)
    try {
      if (isSpent(context, head)) {
        await commitTurns(context, [aloneWork(context, held, mailbox, head)], context.options.turnTimeoutMs)
      } else {
        const released = await runMessage(context, { ...held, ...mailbox, message: head }, head)
        if (released === 'broken_off') return goToTheEnd(context, held, head, handover)
        if (released.has(key)) return handover.leave(key, mailbox.lastSeq)
      }
    } catch (error) {
      return failTurn(context, held, head, error instanceof TurnFailed ? error.cause : error, handover)
    }
  }
}

/** Claims the actor. `dead`: takes it from a dead worker. @returns null if another worker has it */
async function acquire(context: Context, key: ActorKey, dead: boolean): Promise<Claimed | null> {
  const { sql, worker, options } = context
  if (!dead) return (await claimAndRead(sql, worker, [key], 1))[0] ?? null
  const held = await takeOver(sql, worker, key, options.leaseMs)
  return held && { ...held, mailbox: null }
}

async function look({ sql, worker }: Context, held: Held): Promise<Mailbox | undefined> {
  return (await readMailboxes(sql, worker, [held], 1)).get(held.key)
}

function runMessage(context: Context, work: LongWork, message: WaitingMessage) {
  const { running } = context
  return runTurn(context, [work], longTurnTimeoutMs(context, message), (turn) => {
    const handler = longHandler(context, message)
    running.set(message)
    return running.inNameOf(message, () => handler(turn))
  })
}

/**
 * Runs one long turn: for one message, or for one message of each of many actors.
 * @returns the actors that were released, or `broken_off` if the turn ended because the worker stops, which is not a failure
 * @throws the handler's error, TurnTimeout, or Fenced if another worker has taken over one of the actors; nothing was finished then
 */
export async function runTurn(
  context: Context,
  works: readonly LongWork[],
  timeoutMs: number,
  handle: (turn: LongTurn & GroupTurn) => Promise<void>,
): Promise<ReadonlySet<ActorKey> | 'broken_off'> {
  const { longTurns, stopping } = context
  const controller = new AbortController()
  const turn = new Turn(context, works, AbortSignal.any([controller.signal, stopping]))
  for (const { key, epoch } of works) longTurns.set(key, { epoch, controller })
  const started = performance.now()
  try {
    await within(timeoutMs, (async () => handle(turn))())
    if (!turn.finished) throw new Error('the handler ended without finish')
  } catch (error) {
    if (!turn.finished) {
      if (stopping.aborted && !(error instanceof TurnTimeout)) return 'broken_off'
      throw error
    }
    turn.log.warn({ err: error }, 'error after the end of a turn')
  } finally {
    turn.end()
    controller.abort(new Fenced('the turn is over'))
    turn.watchNoMore()
  }
  const kind = kindOf(works[0]!.key)
  context.metrics.turns.inc({ kind, outcome: 'done' }, works.length)
  context.metrics.turnSeconds.observe({ kind }, (performance.now() - started) / 1_000)
  return turn.released
}

class Turn implements LongTurn, GroupTurn {
  readonly log
  #state: 'open' | 'finishing' | 'finished' | 'over' = 'open'
  #released: ReadonlySet<ActorKey> = new Set()

  constructor(
    private readonly context: Context,
    private readonly works: readonly LongWork[],
    readonly signal: AbortSignal,
  ) {
    const { key, type, seq } = this.message
    this.log = context.log.child(works.length === 1 ? { key, type, seq } : { type, actors: works.length })
  }

  get messages(): readonly Message[] {
    return this.works.map(({ message }) => message)
  }

  get message(): Message {
    return this.works[0]!.message
  }

  get organization(): string {
    return this.works[0]!.organization
  }

  get organizations(): readonly string[] {
    return this.works.map(({ organization }) => organization)
  }

  get finished(): boolean {
    return this.#state === 'finished'
  }

  /** The actors that the end of the turn released. */
  get released(): ReadonlySet<ActorKey> {
    return this.#released
  }

  async step<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over')
    const { works, message, context } = this
    const value = await this.#commit(work, async (tx) => {
      await Promise.all([fence(tx, context.worker, works), assertHead(tx, message)])
    })
    this.#resumed()
    return value
  }

  async finish<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T> {
    if (this.#state !== 'open') throw new Fenced('the turn is over, or was finished before')
    this.#state = 'finishing'
    try {
      const value = await this.#commit(work, (tx) => this.#fenceAndRelease(tx))
      this.#state = 'finished'
      this.watchNoMore()
      this.#resumed()
      return value
    } catch (error) {
      this.#state = 'over'
      throw error
    }
  }

  /** From now on, a takeover of an actor does not abort this turn. */
  watchNoMore(): void {
    const { longTurns } = this.context
    for (const { key, epoch } of this.works) if (longTurns.get(key)?.epoch === epoch) longTurns.delete(key)
  }

  /** Refuses everything that an abandoned handler still tries. */
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

  /** Marks that the handler resumes. A shared turn marks no message, because it is unknown which message's part runs. */
  readonly #resumed = () => {
    if (this.works.length === 1) this.context.running.set(this.message)
  }

  /** The transaction as the handler gets it. */
  #marked(tx: Tx): Tx {
    this.#resumed()
    return markResumes(tx, this.#resumed)
  }

  /** Fences, removes the messages, and releases the actors that have no other due message. */
  async #fenceAndRelease(tx: Tx): Promise<void> {
    const { works, messages, context } = this
    const [released] = await Promise.all([
      fenceAndRelease(
        tx,
        context.worker,
        works.map(({ key, epoch, lastSeq, complete }) => ({
          key,
          epoch,
          lastSeq: complete ? lastSeq : null,
        })),
      ),
      remove(tx, messages),
    ])
    this.#released = released
  }

  /** `check` runs last and verifies that the actor is still ours. */
  async #commit<T>(work: (tx: Tx, send: Send) => Promise<T>, check: (tx: Tx) => Promise<void>): Promise<T> {
    const { sql, notifier, options } = this.context
    const { value, wakeUps } = await transaction(sql, async (tx) => {
      const newMessages: NewMessage[] = []
      limitStatements(tx, this.context, options.turnTimeoutMs)
      const result = await work(this.#marked(tx), async (more) => void newMessages.push(...more))
      const sent = await sendAll(tx, newMessages)
      await check(tx)
      return { value: result, wakeUps: sent }
    })
    if (wakeUps.length > 0) notifier.notify(wakeUps)
    return value
  }
}
