/**
 * The vocabulary of the actor runtime. README.md in this folder describes the protocol.
 *
 * A use case sends a *message* to an actor. A *wake-up* is a hint to the workers that a message is waiting. A *turn* is the
 * handling of a message by the one worker that owns the actor at that moment.
 */
import type { TSchema } from '@sinclair/typebox'
import type { TypeCheck } from '@sinclair/typebox/compiler'
import type { Json, Tx } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'

/**
 * Pools of workers. Turns of `short` do SQL only; those of the others may do any I/O. Turns of `media` may take hours, so the turns of
 * `long` do not wait behind them. Many actors of `analysis` may share a turn (`GroupHandler`). `background` does the same for background
 * analyses. Turns of `outbound` mostly wait for servers of customers, so there are many at a time, but only a few of one organization.
 */
export const POOLS = ['short', 'long', 'media', 'analysis', 'background', 'outbound'] as const
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
  /** Ids and decisions. Large bodies stay in their own tables. */
  readonly payload?: Json
  /** The message is due this long after it was sent. Until then it holds up later messages to the same actor. */
  readonly delayMs?: number
  /** The organization that the work belongs to. Null: that of the actor's earlier messages, or none (`NO_ORGANIZATION`). */
  readonly organizationId?: string | null
  /**
   * Leaves the message out beside one of the same type. `waiting`: one that no turn has begun, so its turn sees what this transaction
   * writes. The earlier time of the two holds. `present`: also one whose turn has begun, for tasks that send it again while it is due.
   */
  readonly unless?: 'waiting' | 'present'
}

export interface WakeUp {
  readonly key: ActorKey
  readonly seq: number
  readonly type: string
  /** As in the message: the notifier sends the wake-up no earlier. */
  readonly delayMs?: number
  /** The organization that the work belongs to. Absent in wake-ups of older versions. */
  readonly organization?: string
}

/** Stands for the organization if there is none or it is unknown. */
export const NO_ORGANIZATION = '00000000-0000-0000-0000-000000000000'

/**
 * Sends messages in the turn's transaction; they are sent if and only if it commits. They are stored after the handler has
 * ended, together with those of all turns in the transaction, because rows of `actor_mailbox` are locked last.
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
  /** How many of the attempts ended together with their worker. Absent: none. */
  readonly deaths?: number
}

/**
 * How often a message failed before. That the service was killed says nothing about the program or the server that a handler calls, so ends of
 * workers do not count.
 */
export const failuresOf = ({ attempts, deaths = 0 }: Pick<Message, 'attempts' | 'deaths'>): number =>
  attempts - deaths

/**
 * A failure that says nothing about the message, such as a server that is away, has a number `putOffMs`: the turn is put off for so many
 * milliseconds, and uses up no attempt but the first. The message keeps its place before the later ones of its actor. Null: the failure counts.
 */
export function putOffMsOf(error: unknown): number | null {
  if (!(error instanceof Error) || !('putOffMs' in error)) return null
  return typeof error.putOffMs === 'number' ? error.putOffMs : null
}

/** Another worker owns the actor by now. Nothing of this turn was committed, and the new owner runs it again. */
export class Fenced extends Error {
  override readonly name = 'Fenced'
}

/**
 * The handler of a short turn. It only runs SQL on `tx`; the runtime then fences and commits.
 *
 * Turns of different actors share one transaction and run in it at the same time. So a handler touches only rows of its own
 * actor. It opens no savepoint: the runtime refuses this, because a savepoint would include other turns' statements. It does not
 * catch the error of a statement, because that error ends the transaction. If a turn of the transaction fails, turns run again,
 * each alone in a transaction.
 * Resolving with `again` keeps the message at the head, because there is more to do than one turn should.
 */
export type ShortHandler<P = Json> = (message: Message<P>, tx: Tx, send: Send) => Promise<'done' | 'again'>

/** The first due messages of an actor, all for the same bulk handler. */
export interface Visit {
  readonly key: ActorKey
  /** The part of the key after the colon. */
  readonly id: string
  /** In the order in which they were sent; at least one. */
  readonly messages: readonly Message[]
}

/**
 * Handles the short turns of many actors at once, for actors whose messages say only that there is work. A visit handles all of
 * its messages. If several types have the same handler object, one visit covers the messages of all these types.
 *
 * The rules of `ShortHandler` apply. If a call with several visits fails, no message is blamed, and each actor is visited alone.
 */
export interface BulkHandler {
  /** @returns the keys of the actors whose messages stay, because there is more to do than one turn should */
  visit(visits: readonly Visit[], tx: Tx, send: Send): Promise<ReadonlySet<ActorKey>>
}

/** The part that all long turns have in common. */
interface AnyLongTurn {
  /** Aborted when the worker loses the actor or stops: end all I/O at once. */
  readonly signal: AbortSignal
  readonly log: Log
  /** Runs a transaction that only reads. It is not fenced: what it read may have changed when the turn ends. */
  read<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Runs the last transaction of the turn. It is fenced and removes the message. Call it exactly once. It may release the actor:
   * what the handler still does afterwards (tidying up) may run at the same time as the actor's next turn.
   */
  finish<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T>
}

/** A long turn of one message. */
export interface LongTurn<P = Json> extends AnyLongTurn {
  readonly message: Message<P>
  /** Whose work it is, as in the message. */
  readonly organization: string
  /** Runs an intermediate, fenced transaction. @throws Fenced if another worker has taken over. */
  step<T>(work: (tx: Tx, send: Send) => Promise<T>): Promise<T>
}

export type LongHandler<P = Json> = (turn: LongTurn<P>) => Promise<void>

/** A long turn of many actors, with the first due message of each. `finish` removes all of them, or none. */
export interface GroupTurn extends AnyLongTurn {
  /** At least one, each of another actor. */
  readonly messages: readonly Message[]
  /** The organization of each message, in the order of `messages`. */
  readonly organizations: readonly string[]
}

/** The turn of one message, for work that is written for turns of many. */
export const asGroupTurn = (turn: LongTurn): GroupTurn => ({
  signal: turn.signal,
  log: turn.log,
  read: (work) => turn.read(work),
  finish: (work) => turn.finish(work),
  messages: [turn.message],
  organizations: [turn.organization],
})

/**
 * Handles long turns that many actors share, for I/O that serves many at once. If a shared turn fails or takes longer than
 * `batchTimeoutMs`, no attempt is counted, and the runtime handles each message with `alone`. A message that failed before runs
 * with `alone` from the start.
 */
export interface GroupHandler<P = Json> {
  together(turn: GroupTurn): Promise<void>
  readonly alone: LongHandler<P>
}

/** Handles a message that failed `maxAttempts` times, in a fenced transaction that removes it. */
export type GiveUp<P = Json> = (
  message: Message<P>,
  tx: Tx,
  send: Send,
  error: string,
) => Promise<'handled' | 'dead_letter'>

interface DefinitionBase {
  readonly kind: string
  /** The check of each type's payload. Absent: payloads are not checked. */
  readonly payloads?: ReadonlyMap<string, TypeCheck<TSchema>>
  readonly maxAttempts: number
  /** Message types with their own limit, such as one that may wait for hours for an external server. */
  readonly maxAttemptsOf?: Readonly<Record<string, number>>
  /** Message types whose long turns have their own time limit. Milliseconds. */
  readonly turnTimeoutMsOf?: Readonly<Record<string, number>>
  readonly giveUp?: GiveUp
}

/** An actor kind and its handlers by message type. A message that this version cannot read is a failed turn. */
export type ActorDefinition = DefinitionBase &
  (
    | { readonly pool: 'short'; readonly handlers: Readonly<Record<string, ShortHandler | BulkHandler>> }
    | { readonly pool: LongPool; readonly handlers: Readonly<Record<string, LongHandler | GroupHandler>> }
  )

/** A periodic task for the whole service: at most one process starts it, at most once per `everySeconds`. */
export interface MaintenanceTask {
  readonly name: string
  readonly everySeconds: number
  /** `stopping` is aborted when the process stops. The task then ends without an error at the next point where nothing is half done. */
  run(stopping: AbortSignal): Promise<void>
}

/** Tells workers that messages are waiting. Call it after COMMIT. A lost wake-up costs a sweep interval, never a message. */
export interface Notifier {
  readonly name: 'redis' | 'postgres'
  /** Returns at once and never throws. Wake-ups of one moment travel together. */
  notify(wakeUps: readonly WakeUp[]): void
  /** Resolves when all earlier wake-ups have been sent or are lost. */
  close(): Promise<void>
}

/** The receiving side of one worker and pool. */
export interface WakeUpSource {
  /** Waits for wake-ups and returns at most `count` of them. Empty after some seconds without any, or when closed. */
  take(count: number): Promise<readonly Hint[]>
  close(): Promise<void>
}

/** A wake-up as a worker reads it: a hint to look into the mailbox. */
export interface Hint {
  readonly key: ActorKey
  readonly seq: number
  /** NO_ORGANIZATION if it is unknown. */
  readonly organization: string
}
