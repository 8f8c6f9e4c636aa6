/**
 * The transaction of short turns, for one actor or many: it runs handlers, sends messages, fences, releases and removes.
 *
 * All of it commits, or nothing does. Handlers of different actors run at the same time on one connection, so their statements
 * travel together. The messages of one actor are handled one after another. One call of a bulk handler visits all actors whose
 * messages are for it.
 */
import { withTimeout } from '../platform/concurrency/timeout.ts'
import type { Tx } from '../platform/db/pool.ts'
import { Revocation } from '../platform/db/revocation.ts'
import { transaction } from '../platform/db/transaction.ts'
import type { Held } from './claim-statements.ts'
import type { Context } from './context.ts'
import { send } from './mailbox.ts'
import { markResumes, type RunningMark } from './running.ts'
import { fenceAndRelease, remove } from './statements.ts'
import {
  type ActorKey,
  type BulkHandler,
  Fenced,
  type Message,
  type NewMessage,
  type ShortHandler,
  type WakeUp,
} from './types.ts'

/** The turns of one actor in a transaction. */
export interface Work extends Held {
  readonly organization: string
  readonly lastSeq: number
  readonly messages: readonly Message[]
  /** True if no other message is due: the same transaction releases the actor, unless a message arrives before. */
  readonly complete: boolean
  /** @throws Error if the message has no handler; then the turn has failed */
  readonly handlerOf: (message: Message) => ShortHandler | BulkHandler
}

export interface Committed {
  readonly released: ReadonlySet<ActorKey>
  readonly messages: number
}

/** Turns failed, and nothing was committed. `culprit` is the first actor whose handler threw; null if unknown. */
export class TurnFailed extends Error {
  override readonly name = 'TurnFailed'
  constructor(
    readonly culprit: ActorKey | null,
    override readonly cause: unknown,
  ) {
    super('a turn failed', { cause })
  }
}

/** The turn took longer than its time limit. Its work may go on, but can commit nothing. */
export class TurnTimeout extends Error {
  override readonly name = 'TurnTimeout'
}

/**
 * Runs the turns of `works` (sorted by key) in one transaction, and then sends wake-ups for their messages.
 * @throws Fenced if another worker has taken over an actor, TurnFailed for any other error
 */
export async function commitTurns(
  context: Context,
  works: readonly Work[],
  timeoutMs: number,
): Promise<Committed> {
  const failed: (ActorKey | null)[] = []
  const started = performance.now()
  try {
    const result = await transaction(context.sql, async (tx) => {
      failed.length = 0 // a retried transaction starts over
      limitStatements(tx, context, timeoutMs)
      const newMessages: NewMessage[] = []
      const done = await performAll(context, works, tx, newMessages, timeoutMs, failed)
      const [wakeUps, released] = await Promise.all([
        sendAll(tx, newMessages),
        fenceAndRelease(
          tx,
          context.worker,
          done.map(({ work, finished }) => ({ ...work, lastSeq: finished ? work.lastSeq : null })),
        ),
        remove(
          tx,
          done.flatMap((turns) => turns.messages),
        ),
      ])
      return { wakeUps, released, messages: done.reduce((sum, turns) => sum + turns.messages.length, 0) }
    })
    if (result.wakeUps.length > 0) context.notifier.notify(result.wakeUps)
    observe(context, works, result.messages, (performance.now() - started) / 1_000)
    return result
  } catch (error) {
    throw error instanceof Fenced ? error : new TurnFailed(failed[0] ?? null, error)
  }
}

/**
 * Sets the server's own limits, so that the transaction of a paused or stuck worker does not keep its rows locked. The statement
 * is sent without waiting and travels with the first statement of a handler.
 *
 * It also sets how the server plans: a turn must look up its actors' rows by index and in index order, whatever the statistics
 * say. Statistics describe the average actor. By them, the longest actor would be read and sorted as a whole for each of its rows,
 * and a plan made while a table was empty would scan the table long after. With fixed plans, each connection plans once.
 */
export function limitStatements(tx: Tx, context: Pick<Context, 'options'>, timeoutMs: number): void {
  const { statementTimeoutMs, leaseMs } = context.options
  tx`
    select
      set_config('statement_timeout', ${String(Math.min(timeoutMs, statementTimeoutMs))}, true),
      set_config('idle_in_transaction_session_timeout', ${String(leaseMs)}, true),
      set_config('enable_seqscan', 'off', true),
      set_config('enable_bitmapscan', 'off', true),
      set_config('plan_cache_mode', 'force_generic_plan', true),
      set_config('jit', 'off', true)`.execute()
}

interface Turns {
  readonly work: Work
  readonly messages: readonly Message[]
  /** True if the actor may be released. */
  readonly finished: boolean
}

/** One actor's handler calls in order, or one call of a bulk handler. `key`: the actor to blame if it fails; null: unknown. */
interface Run {
  readonly key: ActorKey | null
  perform(tx: Tx, newMessages: NewMessage[]): Promise<readonly Turns[]>
}

async function performAll(
  { running }: Context,
  works: readonly Work[],
  tx: Tx,
  newMessages: NewMessage[],
  timeoutMs: number,
  failed: (ActorKey | null)[],
): Promise<readonly Turns[]> {
  const revocation = new Revocation()
  const alone = works.length === 1 ? works[0]?.messages[0] : undefined
  const guarded = withoutSavepoints(revocation.guard(tx))
  // The answers for several actors arrive together, so it is unknown whose handler resumes. Only a lone message is marked.
  const handle = alone === undefined ? guarded : markResumes(guarded, () => running.set(alone))
  const reasons: unknown[] = []
  const runs = runsOf(works, running).map(async ({ key, perform }) => {
    try {
      return await perform(handle, newMessages)
    } catch (error) {
      failed.push(key)
      reasons.push(error)
      revocation.revoke(error) // the other handlers fail at their next statement
      throw error
    }
  })
  try {
    // Waits for all handlers, even after a failure: the transaction must not end before their last statement.
    const settled = await within(timeoutMs, Promise.allSettled(runs))
    if (reasons.length > 0) throw reasons[0]
    return settled.flatMap((run) => (run.status === 'fulfilled' ? run.value : []))
  } finally {
    revocation.revoke(new Error('the turn is over'))
  }
}

/** One run per actor, but a single run for all actors that begin with the same bulk handler. */
function runsOf(works: readonly Work[], running: RunningMark): readonly Run[] {
  const runs: Run[] = []
  for (const [bulk, members] of Map.groupBy(works, (work) => bulkOf(work, work.messages[0]))) {
    const alone = members.length === 1 ? (members[0]?.key ?? null) : null
    if (bulk !== null)
      runs.push({
        key: alone,
        perform: (tx, newMessages) => visitAll(bulk, members, running, tx, newMessages),
      })
    else
      for (const work of members)
        runs.push({
          key: work.key,
          perform: async (tx, newMessages) => [await performOne(work, running, tx, newMessages)],
        })
  }
  return runs
}

/** The bulk handler of a message. Null if the message has another handler, or none. */
function bulkOf(work: Work, message: Message | undefined): BulkHandler | null {
  try {
    const handler = message === undefined ? null : work.handlerOf(message)
    return typeof handler === 'function' ? null : handler
  } catch {
    return null // `performOne` throws the same error
  }
}

async function performOne(
  work: Work,
  running: RunningMark,
  tx: Tx,
  newMessages: NewMessage[],
): Promise<Turns> {
  const messages: Message[] = []
  for (const message of work.messages) {
    const handler = work.handlerOf(message)
    if (typeof handler !== 'function') return { work, messages, finished: false }
    running.set(message)
    const perform = () => handler(message, tx, async (more) => void newMessages.push(...more))
    const outcome = await running.inNameOf(message, perform)
    if (outcome === 'again') return { work, messages, finished: false }
    messages.push(message)
  }
  return { work, messages, finished: work.complete }
}

/** Visits each actor with its messages up to the first that is not for `bulk`. */
async function visitAll(
  bulk: BulkHandler,
  works: readonly Work[],
  running: RunningMark,
  tx: Tx,
  newMessages: NewMessage[],
): Promise<readonly Turns[]> {
  const visits = works.map((work) => {
    const stop = work.messages.findIndex((message) => bulkOf(work, message) !== bulk)
    const messages = stop === -1 ? work.messages : work.messages.slice(0, stop)
    return {
      work,
      key: work.key,
      id: messages[0]?.id ?? '',
      messages,
      complete: work.complete && stop === -1,
    }
  })
  const [alone, ...others] = visits
  const only = others.length === 0 ? alone?.messages[0] : undefined
  const visit = () => bulk.visit(visits, tx, async (more) => void newMessages.push(...more))
  if (only !== undefined) running.set(only)
  const again = await (only === undefined ? visit() : running.inNameOf(only, visit))
  return visits.map(({ work, messages, complete }) =>
    again.has(work.key) ? { work, messages: [], finished: false } : { work, messages, finished: complete },
  )
}

/** Refuses savepoints: turns share the transaction, and the savepoint of one would include statements of another. */
function withoutSavepoints(tx: Tx): Tx {
  return new Proxy(tx, {
    get(target, property) {
      if (property === 'savepoint') throw new Error('a turn shares its transaction and opens no savepoint')
      return Reflect.get(target, property)
    },
  })
}

/** `send` takes one message per key, so several messages to one actor are sent in rounds, in order. */
export async function sendAll(tx: Tx, newMessages: readonly NewMessage[]): Promise<readonly WakeUp[]> {
  const wakeUps: WakeUp[] = []
  let rest = newMessages
  while (rest.length > 0) {
    const round = new Map<ActorKey, NewMessage>()
    const next: NewMessage[] = []
    for (const newMessage of rest) {
      if (round.has(newMessage.key)) next.push(newMessage)
      else round.set(newMessage.key, newMessage)
    }
    wakeUps.push(...(await send(tx, [...round.values()])))
    rest = next
  }
  return wakeUps
}

/** Waits for `work`. @throws TurnTimeout if it takes longer; `work` itself goes on */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return withTimeout(work, timeoutMs, () => new TurnTimeout(`took longer than ${timeoutMs} ms`))
}

function observe(context: Context, works: readonly Work[], messages: number, seconds: number): void {
  const kind = works[0]?.key.split(':')[0] ?? ''
  context.metrics.turns.inc({ kind, outcome: 'done' }, messages)
  context.metrics.turnSeconds.observe({ kind }, seconds)
}
