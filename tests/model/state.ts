/**
 * What there is in the model of the actor protocol: one key, its senders, its workers, and PostgreSQL at READ COMMITTED.
 *
 * The rule: states are values; every helper returns a new one.
 */
import type { Step } from './explorer.ts'

/** Every way in which the protocol can be got wrong; none of them is the protocol itself. */
export type Mistake =
  | 'no fence'
  | 'no fence, and the removed rows are not counted'
  | 'fence for key share'
  | 'fence without the owner'
  | 'removed without being the head'
  | 'claim reads mail from the locked row'
  | 'claim trusts its look at what is in hands'
  | 'release where no message exists'
  | 'release without looking'
  | 'head in two statements'
  | 'head skips what waits for its retry'
  | 'bells in hand are forgotten'
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
  /** False: every bell is lost. */
  readonly bells: boolean
  /** The server may crash and lose commits that did not wait for the disk. */
  readonly serverCrashes?: boolean
  readonly mistake?: Mistake
}

/** What is committed. Sets of messages are bit masks: message `n` is bit `n - 1`. */
export interface Database {
  readonly mail: number
  readonly epoch: number
  /** 0: nobody; else number of the worker. */
  readonly owner: number
  readonly present: number
  /** Of those, the ones that wait for their retry. */
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

export const PLACES: readonly Place[] = [
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

/** Places inside a transaction, or a statement that has looked. */
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
  /** What it remembers. */
  readonly epoch: number
  readonly mail: number
  readonly head: number
  /** The newest message that a bell rang for while the actor was in hand. */
  readonly rung: number
  /** `called`: from a dead worker; until `settled`: nothing else is due, from there on: released; `release waits`: saw none. */
  readonly flag: boolean
}

export interface Sender {
  readonly place: 'new' | 'open' | 'committed' | 'done'
  readonly seq: number
}

export interface Ghost {
  readonly head: number
  readonly released: boolean
}

export interface State {
  readonly database: Database
  /** What a crash of the server cannot take back. */
  readonly durable: Database
  /** Locks of open transactions on the row of the actor: `exclusive` is a worker, or a sender as a negative number. */
  readonly exclusive: number
  readonly shared: number
  /** The worker whose transaction has deleted the head. */
  readonly deleting: number
  /** A COMMIT that is on its way to the server, whose worker has lost the connection and will not hear the outcome. */
  readonly ghost: Ghost | null
  readonly bells: number
  readonly faults: number
  readonly workers: readonly Worker[]
  readonly senders: readonly Sender[]
}

/** Holds the locks of the lost transaction. */
export const GHOST = 9

export const EMPTY: Database = { mail: 0, epoch: 0, owner: 0, present: 0, waiting: 0, applied: 0 }
export const NEW_WORKER: Worker = {
  place: 'idle',
  alive: true,
  lease: true,
  epoch: 0,
  mail: 0,
  head: 0,
  rung: 0,
  flag: false,
}

export const bit = (message: number) => 1 << (message - 1)
export const lowest = (messages: number) => (messages === 0 ? 0 : 32 - Math.clz32(messages & -messages))

/**
 * Equal for states that differ in the numbers of workers and senders only, or in epochs that will never be compared: as
 * long as they only rise, all that counts is whose epoch is the newest.
 */
export function canonicalKey(state: State, epochsFall: boolean): string {
  const { database, durable, exclusive, shared, deleting, bells, faults } = state
  const epochOf = (epoch: number) => (epochsFall ? epoch : epoch === database.epoch ? 1 : 0)
  const workers = state.workers.map((worker, index) => {
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
    const place = PLACES.indexOf(worker.place)
    return String.fromCharCode(marks, place, epochOf(worker.epoch), worker.mail, worker.head, worker.rung)
  })
  const senders = state.senders.map(
    ({ place, seq }, index) => `${place[0]}${place[1]}${seq}${exclusive === -index - 1 ? '!' : ''}`,
  )
  const rows = [database, durable].map(({ mail, epoch, present, waiting, applied }) =>
    String.fromCharCode(mail, epochOf(epoch), present, waiting, applied),
  )
  const ghost = state.ghost === null ? '' : `${state.ghost.head}${state.ghost.released}`
  return [String.fromCharCode(bells, faults), ghost, ...rows, ...workers.sort(), ...senders.sort()].join('|')
}

export function setWorker(state: State, me: number, change: Partial<Worker>): State {
  return { ...state, workers: state.workers.with(me - 1, { ...state.workers[me - 1]!, ...change }) }
}

export function setDatabase(state: State, change: Partial<Database>): State {
  return { ...state, database: { ...state.database, ...change } }
}

/** True where somebody else's transaction holds a lock that `no key update` waits for. */
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

/** Out of hand, with what was rolled back; comes back at once where a bell rang for more than it has seen. */
export function leave(state: State, me: number, seen: number): State {
  const { rung } = state.workers[me - 1]!
  const cleared = { epoch: 0, mail: 0, head: 0, rung: 0, flag: false }
  return setWorker(unlock(state, me), me, { ...cleared, place: rung > seen ? 'called' : 'idle' })
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
