/**
 * The state of the model of guarded writes and of left-out messages.
 *
 * States are values; every helper returns a new one. Sets of events and messages are bit masks. Each request has one
 * event, whose sequence is the number of the request.
 */

/** The mistakes that the model can make. The service makes none of them. */
export type CoalescedMistake =
  | 'the sender looks for a message before it locks the row'
  | 'the version is not compared'
  | 'nothing is compared again under the lock'
  | 'only the version is compared again under the lock'
  | 'the watermark is not compared'
  | 'the locked way does not change the version'
  | 'the version is the clock alone, which may stand still'
  | 'a wrong memory is trusted again'
  | 'a request does not wait for the disk'
  | 'the turn reads before it locks'
  | 'the turn reads in the statement that locks'
  | 'a turn without news does not write the row'
  | 'the message of a session that just had a turn is not sent'
  | 'the long turn does not check what arrived meanwhile'

/** `guarded`: one statement, conditional on what was read or remembered. `locked`: a transaction that begins with the row lock. */
type Way = 'guarded' | 'locked'

export interface SenderOptions {
  readonly way: Way
  /** Requests of one process for one session run one after another and share one memory. */
  readonly process: number
}

export interface CoalescedOptions {
  readonly senders: readonly SenderOptions[]
  readonly workers: number
  /** How many faults may happen in one run, in any combination. */
  readonly faults: number
  /** `short`: locks, then reads. `long`: reads and does its I/O without a lock, then locks and checks what is left. */
  readonly turns: 'short' | 'long'
  /** Turns commit without waiting for the disk, and the server may crash and lose them. */
  readonly serverCrashes?: boolean
  /** What was remembered wrongly is trusted again at once. Slow where processes take turns, and no mistake. */
  readonly neverInvalidates?: boolean
  /** A message that is sent after a turn is not due at once. */
  readonly pauses?: boolean
  readonly mistake?: CoalescedMistake
}

/** The state that a request is decided by. */
export interface Seen {
  /** The version of the session as ingestion left it; 0: there is no session. */
  readonly version: number
  readonly events: number
  /** The highest sequence that a turn has processed. */
  readonly watermark: number
}

/** The committed state. */
export interface Database extends Seen {
  /** The write that made the current row. */
  readonly writer: number
  /** Events that came below the watermark: turns go back for them. */
  readonly lateEvents: number
  /** Events that a turn has dealt with. */
  readonly read: number
  readonly messages: number
  /** Those messages that are delayed because they were sent soon after a turn. */
  readonly early: number
  readonly lastSeq: number
  /** The owner of the actor; 0: none. */
  readonly owner: number
  readonly epoch: number
}

/** A process's memory of the session. */
export interface Known extends Seen {
  readonly invalidated: boolean
}

export interface Sender {
  readonly place:
    | 'new'
    | 'decided'
    | 'writing'
    | 'to lock'
    | 'to create'
    | 'locking done'
    | 'open'
    | 'stored'
    | 'done'
  readonly seen: Seen | null
  /** `seen` comes from memory and not from a read. */
  readonly remembered: boolean
  /** The request must not be decided by memory (again). */
  readonly reads: boolean
  /** The snapshot of the running statement. */
  readonly snapshot: Database | null
  readonly looked: boolean
  readonly tells: boolean
  /** The version that its statement returned. */
  readonly version: number
}

export interface Worker {
  readonly place: 'idle' | 'held' | 'turn' | 'asked' | 'waits' | 'locked' | 'ready'
  readonly epoch: number
  readonly head: number
  /** Events that the turn handles. */
  readonly seen: number
  /** The long turn sends a message to its own actor. */
  readonly more: boolean
}

export interface State {
  readonly database: Database
  /** The state that a crash of the server cannot undo. */
  readonly durable: Database
  /** The holder of the lock on the session's row: 0 for none, a sender by its number, a worker by its negative number. */
  readonly locked: number
  /** How often the row was written, including by transactions that a crash has undone. */
  readonly writes: number
  readonly faults: number
  readonly senders: readonly Sender[]
  readonly workers: readonly Worker[]
  /** The memory of each process. */
  readonly known: readonly (Known | null)[]
}

export const RULES = {
  stale: 'a decision is written that was made on an earlier state of the session',
} as const

export const START: Database = {
  version: 0,
  events: 0,
  watermark: -1,
  writer: 0,
  lateEvents: 0,
  read: 0,
  messages: 0,
  early: 0,
  lastSeq: 0,
  owner: 0,
  epoch: 0,
}

export const NEW: Sender = {
  place: 'new',
  seen: null,
  remembered: false,
  reads: false,
  snapshot: null,
  looked: false,
  tells: false,
  version: 0,
}

export function set(state: State, index: number, change: Partial<Sender>): State {
  return { ...state, senders: state.senders.with(index, { ...state.senders[index]!, ...change }) }
}

export function setWorker(state: State, index: number, change: Partial<Worker>): State {
  return { ...state, workers: state.workers.with(index, { ...state.workers[index]!, ...change }) }
}

/** COMMIT of the transaction that holds the row. It writes a new version of the row, or leaves it unchanged. */
export function commit(
  state: State,
  change: Partial<Database>,
  { writesRow = true, movesVersion = false } = {},
): State {
  const writes = state.writes + 1
  return {
    ...state,
    locked: 0,
    writes,
    database: {
      ...state.database,
      ...change,
      ...(writesRow ? { writer: writes } : {}),
      ...(movesVersion ? { version: writes } : {}),
    },
  }
}

/** The highest sequence among events; -1 if there are none. */
export function highestOf(events: number): number {
  return 31 - Math.clz32(events)
}

const numbered = <T extends string>(...places: readonly T[]) =>
  Object.fromEntries(places.map((place, index) => [place, index])) as Record<T, number>
const SENDER_PLACES = numbered<Sender['place']>(
  'new',
  'decided',
  'writing',
  'to lock',
  'to create',
  'locking done',
  'open',
  'stored',
  'done',
)
const WORKER_PLACES = numbered<Worker['place']>('idle', 'held', 'turn', 'asked', 'waits', 'locked', 'ready')

/**
 * Equal for states that differ only in epochs and in the names of versions and writers: it only matters which are equal. The key is
 * one flat string with a unit for each number, because it is built and compared for every step of every state.
 */
export function canonicalCoalesced({ database, durable, locked, faults, ...state }: State): string {
  const names = [0]
  const units: number[] = []
  /** Numbers in order of appearance. */
  const nameOf = (write: number) => {
    const known = names.indexOf(write)
    return known === -1 ? names.push(write) - 1 : known
  }
  /** 0 for null. Otherwise the first unit is above 0. */
  const addSeen = (seen: Seen | null) => {
    if (seen === null) units.push(0)
    else units.push(nameOf(seen.version) + 1, seen.events, seen.watermark + 1)
  }
  const addRow = (row: Database) => {
    addSeen(row)
    units.push(nameOf(row.writer), row.lateEvents, row.read, row.messages, row.early, row.lastSeq, row.owner)
  }
  const addSnapshot = (row: Database | null) => {
    if (row === null) units.push(0)
    else
      units.push(nameOf(row.version) + 1, row.watermark + 1, nameOf(row.writer), Number(row.messages === 0))
  }
  addRow(database)
  addRow(durable)
  // `locked` is negative for a worker.
  units.push(locked + 100, faults)
  // After a crash, epochs may come again, so they are compared as well.
  const epochs = [database.epoch, durable.epoch, ...state.workers.map(({ epoch }) => epoch)]
  const lowest = Math.min(...epochs)
  for (const epoch of epochs) units.push(epoch - lowest)
  for (const { place, seen, remembered, reads, snapshot, looked, tells, version } of state.senders) {
    units.push(
      SENDER_PLACES[place],
      Number(remembered) + Number(reads) * 2 + Number(looked) * 4 + Number(tells) * 8,
    )
    addSeen(seen)
    addSnapshot(snapshot)
    units.push(nameOf(version))
  }
  for (const { place, head, seen, more } of state.workers)
    units.push(WORKER_PLACES[place] * 2 + Number(more), head, seen)
  for (const known of state.known) {
    addSeen(known)
    if (known !== null) units.push(Number(known.invalidated))
  }
  return String.fromCharCode(...units)
}
