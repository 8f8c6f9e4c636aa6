/**
 * The vocabulary of the actor runtime. See README.md in this folder for the protocol.
 *
 * A *message* is what a use case sends; an *wake-up* is what travels on the stream (a hint, no promise); a *turn* is
 * one message in the hands of the one worker thread that owns its actor at that moment.
 */
import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Json, Tx } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'

/**
 * Pools of workers. Turns of `short` do SQL only; those of the others may do any I/O. Turns of `media` may take hours, so the turns of
 * `long` do not wait behind them. Many actors of `analysis` may share a turn (`GroupHandler`).
 */
export const POOLS = ['short', 'long', 'media', 'analysis'] as const
export type Pool = (typeof POOLS)[number]
/** Pools of long turns. */
export type LongPool = Exclude<Pool, 'short'>

/** `<kind>:<uuid>`; also the primary key of the actor's row. Features declare the kinds (`declaration.ts`). */
export type ActorKey = `${string}:${string}`

/** Kind → pool, of every actor that this version knows. */
export type Kinds = ReadonlyMap<string, Pool>

/** The kind in a key. This version may not know it, because a newer process wrote it. */
export function kindOf(key: string): string {
  return key.slice(0, key.indexOf(':'))
}

export interface NewMessage {
  readonly key: ActorKey
  readonly type: string
  /** Ids and decisions; large bodies stay in their own tables. */
  readonly payload?: Json
  /** It is due so long after it was sent, and until then hides what is sent to the same actor after it. */
  readonly delayMs?: number
  /** Whose work it is. Null: that of the actor's earlier messages, or the service's own (`NO_ORGANIZATION`). */
  readonly organizationId?: string | null
  /** Left out where a message of the same type waits for the actor. When that is safe: `sendUnlessWaiting`. */
  readonly unlessWaiting?: boolean
}

export interface WakeUp {
  readonly key: ActorKey
  readonly seq: number
  readonly type: string
  /** As in the message: the notifier wake-ups no earlier. */
  readonly delayMs?: number
  /** Whose work it is. Absent in wake-ups of older versions. */
  readonly organization?: string
}

/** In the place of an organization where there is none, or none is known. */
export const NO_ORGANIZATION = '00000000-0000-0000-0000-000000000000'

/**
 * Sends messages in the turn's transaction; they leave if and only if it commits. They are stored when the handler has
 * ended, with those of the turns that share its transaction, because `actor` rows are locked last.
 */
export type Send = (newMessages: readonly NewMessage[]) => Promise<void>

export interface Message<P = Json> {
  readonly key: ActorKey
  /** The part of the key after the colon. */
  readonly id: string
  readonly seq: number
  readonly type: string
  readonly payload: P
  /** How often this message was tried before. */
  readonly attempts: number
}

/** Another worker owns the actor by now: nothing of this turn was committed, and the new owner does it over. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/**
 * A short turn: everything it does is SQL on `tx`, which the runtime then fences and commits.
 *
 * Turns of different actors share one transaction and run at the same time on it. So a handler touches rows of its
 * own actor only, opens no savepoint (refused: it would take in the others' statements), and does not catch the
 * error of a statement, since the transaction is lost with it. Where a turn of the transaction fails, each is done
 * over, alone in a transaction.
 * Resolving with `again` keeps the message at the head: there is more to do than one turn should.
 */
export type ShortHandler<P = Json> = (message: Message<P>, tx: Tx, send: Send) => Promise<'done' | 'again'>

/** The first due messages of an actor, all of which one bulk handler takes. */
export interface Visit {
  readonly key: ActorKey
  /** The part of the key after the colon. */
  readonly id: string
  /** In the order in which they were sent; at least one. */
  readonly messages: readonly Message[]
}

/**
 * The short turns of many actors at once, for actors whose messages say only that there is something to do: a visit deals
 * with all of its messages. One object for several types makes one visit of messages of these types.
 *
 * As for a short handler; besides, a failure is nobody's where several are visited: each is then visited alone.
 */
export interface BulkHandler {
  /** @returns the keys of those whose messages stay, because there is more to do than one turn should. */
  visit(visits: readonly Visit[], tx: Tx, send: Send): Promise<ReadonlySet<ActorKey>>
}

/** What every long turn is given. */
interface AnyLongTurn {
  /** Aborted when the turn lost its ownership or the process stops: end all I/O at once. */
  readonly signal: AbortSignal
  readonly log: Log
  /** A transaction that only reads, and so is not fenced: what it saw may be over when the turn ends. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * The last transaction of the turn: fenced, and removes the message. Called exactly once. It may give the actor back: what
   * the handler still does then (tidying up) may happen beside the actor's next turn.
   */
  finish<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T>
}

/** A long turn of one message. */
export interface LongTurn<P = Json> extends AnyLongTurn {
  readonly message: Message<P>
  /** Whose work it is, as in the message. */
  readonly organization: string
  /** An intermediate, fenced transaction. @throws Fenced where another worker has taken over. */
  step<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T>
}

export type LongHandler<P = Json> = (turn: LongTurn<P>) => Promise<void>

/** A long turn of many actors, with the first due message of each. `finish` removes them all, or none. */
export interface GroupTurn extends AnyLongTurn {
  /** At least one, each of another actor. */
  readonly messages: readonly Message[]
  /** Whose work each message is, in the order of `messages`. */
  readonly organizations: readonly string[]
}

/**
 * Long turns that many actors share, for I/O that serves many at once. A shared turn that fails, or takes longer than
 * `batchPatienceMs`, counts for none of its messages: the runtime does each of them over with `alone`. So does a message that has
 * failed before.
 */
export interface GroupHandler<P = Json> {
  together(turn: GroupTurn): Promise<void>
  readonly alone: LongHandler<P>
}

/** What to do with a message that failed `maxAttempts` times, in a fenced transaction that removes it. */
export type GiveUp<P = Json> = (
  message: Message<P>,
  tx: Tx,
  send: Send,
  error: string,
) => Promise<'handled' | 'dead_letter'>

export interface DefinitionBase {
  readonly kind: string
  /** The check of each type's payload. Absent: payloads are not checked. */
  readonly payloads?: ReadonlyMap<string, TypeCheck<TSchema>>
  readonly maxAttempts: number
  /** Where a message type has a number of its own, such as one that may wait for hours for somebody else's server. */
  readonly maxAttemptsOf?: Readonly<Record<string, number>>
  /** How long a long turn of a message type may take, where that is not the usual time. Milliseconds. */
  readonly turnTimeoutMsOf?: Readonly<Record<string, number>>
  readonly giveUp?: GiveUp
}

/** An actor kind and its handlers by message type. An unknown type is a failed turn (older code, newer message). */
export type ActorDefinition = DefinitionBase &
  (
    | { readonly pool: 'short'; readonly handlers: Readonly<Record<string, ShortHandler | BulkHandler>> }
    | { readonly pool: LongPool; readonly handlers: Readonly<Record<string, LongHandler | GroupHandler>> }
  )

/** Work by the clock, for the whole service: at most one process starts it, at most once per `everySeconds`. */
export interface MaintenanceTask {
  readonly name: string
  readonly everySeconds: number
  /** `stopping` is aborted when the process is to end: the task ends at the next point where nothing is half-done, without an error. */
  run(stopping: AbortSignal): Promise<void>
}

/** Tells workers that messages are waiting. Called after COMMIT; a lost wake-up costs a sweep interval, never a message. */
export interface Notifier {
  readonly name: 'redis' | 'postgres'
  /** Returns at once and never throws; wake-ups of one moment travel together. */
  notify(wakeUps: readonly WakeUp[]): void
  /** Resolves when what was notified before has left, or could not. */
  close(): Promise<void>
}
