/**
 * The state of the actor protocol's model: one key, its senders, its workers, and PostgreSQL at READ COMMITTED.
 *
 * States are values; every helper returns a new one.
 */
import type { Step } from './explorer.ts'

/** The mistakes that the model can make. The protocol makes none of them. */
export type Mistake =
  | 'no fence'
  | 'no fence, and the removed rows are not counted'
  | 'fence for key share'
  | 'fence without the owner'
  | 'removed without being the head'
  | 'claim reads last_seq from the locked row'
  | 'claim trusts its read of an owned actor'
  | 'release if no message exists'
  | 'release without a check'
  | 'head in two statements'
  | 'head skips messages that wait for their retry'
  | 'wake-ups for an actor in hand are forgotten'
  | 'sweep overlooks dead owners'
  | 'sweep overlooks its own actors'

export interface ProtocolOptions {
  readonly workers: number
  readonly messages: number
  /** How many faults may happen in one run, in any combination. */
  readonly faults: number
  /** Long turns commit in steps. */
  readonly long: boolean
  readonly sweeps: boolean
  /** False: every wake-up is lost. */
  readonly notifiers: boolean
  /** The server may crash and lose commits that did not wait for the disk. */
  readonly serverCrashes?: boolean
  readonly mistake?: Mistake
}

/** What is committed. Sets of messages are bit masks: message `n` is bit `n - 1`. */
export interface Database {
  readonly lastSeq: number
  readonly epoch: number
  /** 0: no owner; otherwise the number of the worker. */
  readonly owner: number
  readonly present: number
  /** Those present messages that wait for their retry. */
  readonly waiting: number
  readonly applied: number
}

export type Place =
  | 'idle'
  | 'called'
  | 'claiming'
  | 'held'
  | 'half read'
  | 'turn'
  | 'step fenced'
  | 'working'
  | 'settled'
  | 'committing'
  | 'releasing'
  | 'release waits'
  | 'leaving'
  | 'failing'

const PLACES: readonly Place[] = [
  'idle',
  'called',
  'claiming',
  'held',
  'half read',
  'turn',
  'step fenced',
  'working',
  'settled',
  'committing',
  'releasing',
  'release waits',
  'leaving',
  'failing',
]

/** Places inside a transaction, or inside a statement that has taken its snapshot. */
export const IN_TRANSACTION: ReadonlySet<Place> = new Set([
  'claiming',
  'step fenced',
  'settled',
  'committing',
])

export interface Worker {
  readonly place: Place
  readonly alive: boolean
  readonly lease: boolean
  /** The epoch that it remembers. */
  readonly epoch: number
  readonly lastSeq: number
  readonly head: number
  /** The newest message that a wake-up announced while the actor was in hand. */
  readonly notified: number
  /** `called`: the owner is dead. Until `settled`: nothing else is due; from then on: released. `release waits`: it saw no message. */
  readonly flag: boolean
}

export interface Sender {
  readonly place: 'new' | 'open' | 'committed' | 'done'
  readonly seq: number
}

interface Ghost {
  readonly head: number
  readonly released: boolean
}

export interface State {
  readonly database: Database
  /** The state that a crash of the server cannot undo. */
  readonly durable: Database
  /** Locks of open transactions on the row of the actor: `exclusive` is a worker, or a sender as a negative number. */
  readonly exclusive: number
  readonly shared: number
  /** The worker whose transaction has deleted the head. */
  readonly deleting: number
  /** A COMMIT on its way to the server. Its worker has lost the connection and will not learn the outcome. */
  readonly ghost: Ghost | null
  readonly notifiers: number
  readonly faults: number
  readonly workers: readonly Worker[]
  readonly senders: readonly Sender[]
}

/** Holds the locks of the lost transaction. */
export const GHOST = 9

export const EMPTY: Database = { lastSeq: 0, epoch: 0, owner: 0, present: 0, waiting: 0, applied: 0 }
export const NEW_WORKER: Worker = {
  place: 'idle',
  alive: true,
  lease: true,
  epoch: 0,
  lastSeq: 0,
  head: 0,
  notified: 0,
  flag: false,
}

/** The most messages of a model. Keys of states have three bits for a set of them. */
export const MAX_MESSAGES = 3

export const bit = (message: number) => 1 << (message - 1)
export const lowest = (messages: number) => (messages === 0 ? 0 : 32 - Math.clz32(messages & -messages))

/**
 * Equal for states that differ only in the numbers of workers and senders, or in epochs that are never compared. As
 * long as epochs only rise, it only matters which worker has the newest one. They fall only when the server crashes. Without crashes
 * no commit is undone, so what is durable does not count either.
 */
export function canonicalKey(state: State, epochsFall: boolean): string {
  const { database, durable, notifiers, faults, ghost } = state
  const lost = ghost === null ? 0 : ghost.head * 2 + Number(ghost.released) + 1
  const units = [notifiers + faults * 8 + lost * 64, rowNumber(database)]
  if (epochsFall) units.push(database.epoch, rowNumber(durable), durable.epoch)
  for (const worker of sorted(workerNumbers(state, epochsFall))) units.push(worker / 2 ** 16, worker & 0xffff)
  units.push(...sorted(senderNumbers(state)))
  // One flat string, because it is built, hashed and compared for every step of every state. A unit has 16 bits.
  return String.fromCharCode(...units)
}

const SENDER_PLACES: Readonly<Record<Sender['place'], number>> = { new: 0, open: 1, committed: 2, done: 3 }
const PLACE_NUMBERS = Object.fromEntries(PLACES.map((place, index) => [place, index])) as Record<
  Place,
  number
>

/** Three bits hold a set of messages, or the number of one: see `MAX_MESSAGES`. */
const rowNumber = ({ lastSeq, present, waiting, applied }: Database) =>
  lastSeq + present * 8 + waiting * 64 + applied * 512

/** All that counts of each sender. */
export function senderNumbers({ senders, exclusive }: State): number[] {
  return senders.map(
    ({ place, seq }, index) => SENDER_PLACES[place] + seq * 4 + (exclusive === -index - 1 ? 32 : 0),
  )
}

/** All that counts of each worker: its place and its marks, and what it has seen. */
export function workerNumbers(state: State, epochsFall: boolean): number[] {
  const { database, durable, exclusive, shared, deleting } = state
  return state.workers.map((worker, index) => {
    const me = index + 1
    const marks =
      (database.owner === me ? 1 : 0) +
      (durable.owner === me ? 2 : 0) +
      (exclusive === me ? 4 : 0) +
      ((shared >> index) & 1 ? 8 : 0) +
      (deleting === me ? 16 : 0) +
      (worker.alive ? 32 : 0) +
      (worker.lease ? 64 : 0) +
      (worker.flag ? 128 : 0)
    const epoch = epochsFall ? worker.epoch : Number(worker.epoch === database.epoch)
    const seen = worker.lastSeq + worker.head * 8 + worker.notified * 64 + epoch * 512
    return (marks + PLACE_NUMBERS[worker.place] * 256) * 2 ** 16 + seen
  })
}

/** Sorts a list of two or three in place. It runs for every step of every state, and is faster than `sort`. */
function sorted(list: number[]): number[] {
  for (let end = 1; end < list.length; end++) {
    const value = list[end]!
    let at = end
    for (; at > 0 && list[at - 1]! > value; at--) list[at] = list[at - 1]!
    list[at] = value
  }
  return list
}

export function setWorker(state: State, me: number, change: Partial<Worker>): State {
  return { ...state, workers: state.workers.with(me - 1, { ...state.workers[me - 1]!, ...change }) }
}

export function setDatabase(state: State, change: Partial<Database>): State {
  return { ...state, database: { ...state.database, ...change } }
}

/** True if another transaction holds a lock that `no key update` waits for. */
export function isLockedFor(state: State, me: number): boolean {
  const others = me > 0 ? state.shared & ~(1 << (me - 1)) : state.shared
  return others !== 0 || (state.exclusive !== 0 && state.exclusive !== me)
}

/** Ends the transaction of a worker, if it has one open: its locks go. */
export function unlock(state: State, me: number): State {
  return {
    ...state,
    exclusive: state.exclusive === me ? 0 : state.exclusive,
    shared: state.shared & ~(1 << (me - 1)),
    deleting: state.deleting === me ? 0 : state.deleting,
  }
}

/** Out of hand, with what was rolled back; comes back at once where a notifier notified of more than it has seen. */
export function leave(state: State, me: number, seen: number): State {
  const { notified } = state.workers[me - 1]!
  const cleared = { epoch: 0, lastSeq: 0, head: 0, notified: 0, flag: false }
  return setWorker(unlock(state, me), me, { ...cleared, place: notified > seen ? 'called' : 'idle' })
}

/** A step that uses up one of the faults that are left. */
export function fault(state: State, label: string, next: () => State): readonly Step<State>[] {
  return state.faults === 0
    ? []
    : [{ label: `FAULT: ${label}`, next: { ...next(), faults: state.faults - 1 }, isFault: true }]
}

export function isOurs(state: State, me: number, ignoreOwner = false): boolean {
  return state.database.epoch === state.workers[me - 1]!.epoch && (ignoreOwner || state.database.owner === me)
}

export const RULES = {
  twoOwners: 'a worker commits for an actor that another one has claimed',
  twice: 'a message is applied twice',
  order: 'a message is applied before the one that was sent before it',
  over: 'a turn is begun of a message that was dealt with',
} as const

/** The rule of the fence, asked of the rows themselves at COMMIT. */
export function ownership(state: State, me: number): string | undefined {
  return isOurs(state, me) ? undefined : RULES.twoOwners
}

export function messageRule(applied: number, message: number): string | undefined {
  if ((applied & bit(message)) !== 0) return RULES.twice
  return applied === bit(message) - 1 ? undefined : RULES.order
}

export function applyTurn(state: State, me: number, head: number, released: boolean): State {
  const { applied, present, waiting } = state.database
  return setDatabase(unlock(state, me), {
    applied: applied | bit(head),
    present: present & ~bit(head),
    waiting: waiting & ~bit(head),
    ...(released ? { owner: 0 } : {}),
  })
}

export function canonicalDatabase(database: Database): string {
  return Object.values(database).join()
}
