/**
 * What there is in the model of letters that are left out.
 *
 * The rule: states are values; every helper returns a new one. Sets of events and letters are bit masks.
 */

/** Every way in which leaving letters out can be got wrong; none of them is what the service does. */
export type CoalescedMistake =
  | 'the letter is looked for before the row is locked'
  | 'the version is not compared'
  | 'the version is compared in the snapshot only'
  | 'the version is the number of the transaction alone'
  | 'the turn reads before it locks'
  | 'the turn reads in the statement that locks'
  | 'a turn without news leaves the row as it was'
  | 'the long turn does not look at what came in meanwhile'

/** `guarded`: one statement on condition of what was read; `locked`: a transaction that starts with the row lock. */
export type SenderKind = 'guarded' | 'locked'

export interface CoalescedOptions {
  readonly senders: readonly SenderKind[]
  readonly workers: number
  /** How many faults may happen in one run, in any combination. */
  readonly faults: number
  /** `short`: locks, then reads. `long`: reads and asks somebody else without a lock, then locks and looks at what is left. */
  readonly turns: 'short' | 'long'
  /** Turns commit without waiting for the disk, and the server may crash and lose them. */
  readonly serverCrashes?: boolean
  readonly mistake?: CoalescedMistake
}

/** What is committed. */
export interface Database {
  readonly exists: boolean
  /** Of the row of the session: which transaction wrote it, and when. Numbers come again after a crash, moments do not. */
  readonly transaction: number
  readonly stamp: number
  /** One for each request that was stored. */
  readonly events: number
  /** Those that a turn has dealt with. */
  readonly read: number
  readonly letters: number
  readonly mail: number
  /** Of the actor: 0 is nobody. */
  readonly owner: number
  readonly epoch: number
}

export interface Sender {
  readonly kind: SenderKind
  readonly place: 'new' | 'decided' | 'writing' | 'to lock' | 'to create' | 'locking done' | 'open' | 'done'
  /** What the decision was made from. */
  readonly seen: Database | null
  /** What the statement that is under way sees. */
  readonly snapshot: Database | null
  readonly looked: boolean
  readonly tells: boolean
}

export interface Worker {
  readonly place: 'idle' | 'held' | 'turn' | 'asked' | 'waits' | 'locked' | 'ready'
  readonly epoch: number
  readonly head: number
  /** Events that the turn deals with. */
  readonly seen: number
  /** The long turn writes to itself. */
  readonly more: boolean
}

export interface State {
  readonly database: Database
  /** What a crash of the server cannot take back. */
  readonly durable: Database
  /** Who holds the row of the session: 0 nobody, a sender by its number, a worker by its number below zero. */
  readonly locked: number
  /** How often the row has been written, also by transactions that a crash has taken back. */
  readonly stamps: number
  readonly faults: number
  readonly senders: readonly Sender[]
  readonly workers: readonly Worker[]
}

export const RULES = {
  stale: 'a decision is written that was made from an earlier state of the session',
} as const

export const START: Database = {
  exists: false,
  transaction: 0,
  stamp: 0,
  events: 0,
  read: 0,
  letters: 0,
  mail: 0,
  owner: 0,
  epoch: 0,
}

export function begin(kind: SenderKind): Sender {
  return { kind, place: 'new', seen: null, snapshot: null, looked: false, tells: false }
}

export function set(state: State, index: number, change: Partial<Sender>): State {
  return { ...state, senders: state.senders.with(index, { ...state.senders[index]!, ...change }) }
}

export function setWorker(state: State, index: number, change: Partial<Worker>): State {
  return { ...state, workers: state.workers.with(index, { ...state.workers[index]!, ...change }) }
}

/** COMMIT of whoever holds the row; `writesRow`: a new version of it is there. */
export function commit(state: State, change: Partial<Database>, writesRow: boolean): State {
  const { database } = state
  const version = writesRow ? { transaction: database.transaction + 1, stamp: state.stamps + 1 } : {}
  return {
    ...state,
    locked: 0,
    stamps: state.stamps + (writesRow ? 1 : 0),
    database: { ...database, ...change, ...version },
  }
}

/** Whether both name the same version of the row. */
export function isSame(a: Database, b: Database, byNumberAlone: boolean): boolean {
  return a.exists === b.exists && a.transaction === b.transaction && (byNumberAlone || a.stamp === b.stamp)
}

/** Equal for states that differ in the moments of writes and in epochs only: all that counts is which are equal. */
export function canonicalCoalesced(state: State): string {
  const stamps = new Map<number, number>()
  const name = (stamp: number) => {
    if (!stamps.has(stamp)) stamps.set(stamp, stamps.size)
    return stamps.get(stamp)
  }
  const text = (database: Database | null) =>
    database === null
      ? '-'
      : [
          database.exists ? 1 : 0,
          database.transaction,
          name(database.stamp),
          database.events,
          database.read,
          database.letters,
          database.mail,
          database.owner,
        ].join()
  const { database, durable, locked, faults } = state
  // Epochs of the crashed past may come again; those are compared, too.
  const epochs = [database.epoch, durable.epoch, ...state.workers.map(({ epoch }) => epoch)]
  const senders = state.senders.map(
    ({ kind, place, seen, snapshot, looked, tells }) =>
      `${kind} ${place} ${text(seen)} ${text(snapshot)} ${looked} ${tells}`,
  )
  const workers = state.workers.map(({ place, head, seen, more }) => `${place} ${head} ${seen} ${more}`)
  const lowest = Math.min(...epochs)
  return [
    text(database),
    text(durable),
    locked,
    faults,
    epochs.map((epoch) => epoch - lowest).join(),
    ...senders,
    ...workers,
  ].join('|')
}
