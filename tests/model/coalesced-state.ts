/**
 * What there is in the model of guarded writes and of messages that are left out.
 *
 * The rule: states are values; every helper returns a new one. Sets of events and messages are bit masks. Each request has one
 * event, whose sequence is the number of the request.
 */

/** Every way in which it can be got wrong; none of them is what the service does. */
export type CoalescedMistake =
  | 'the message is looked for before the row is locked'
  | 'the version is not compared'
  | 'nothing is compared again under the lock'
  | 'only the version is compared again under the lock'
  | 'the watermark is not compared'
  | 'the locked way leaves the version as it was'
  | 'the version is the clock alone, which may stand still'
  | 'what was remembered wrongly is remembered again'
  | 'a request does not wait for the disk'
  | 'the turn reads before it locks'
  | 'the turn reads in the statement that locks'
  | 'a turn without news leaves the row as it was'
  | 'the message of a session that just had a turn is not sent'
  | 'the long turn does not look at what came in meanwhile'

/** `guarded`: one statement on condition of what was read or is remembered; `locked`: a transaction that starts with the row lock. */
export type Way = 'guarded' | 'locked'

export interface SenderOptions {
  readonly way: Way
  /** Requests of one process for one session are done one after another, and share what is remembered. */
  readonly process: number
}

export interface CoalescedOptions {
  readonly senders: readonly SenderOptions[]
  readonly workers: number
  /** How many faults may happen in one run, in any combination. */
  readonly faults: number
  /** `short`: locks, then reads. `long`: reads and asks somebody else without a lock, then locks and looks at what is left. */
  readonly turns: 'short' | 'long'
  /** Turns commit without waiting for the disk, and the server may crash and lose them. */
  readonly serverCrashes?: boolean
  /** What was remembered wrongly is trusted again at once. Slow where processes take turns, and no mistake. */
  readonly neverInvalidates?: boolean
  /** A message that is sent after a turn is not due at once. */
  readonly pauses?: boolean
  readonly mistake?: CoalescedMistake
}

/** What a request is decided by. */
export interface Seen {
  /** Of the session as ingestion left it; 0: there is none. */
  readonly version: number
  readonly events: number
  /** The highest sequence that a turn has processed. */
  readonly watermark: number
}

/** What is committed. */
export interface Database extends Seen {
  /** Which write made the row as it is. */
  readonly writer: number
  /** Events that came below the watermark: turns go back for them. */
  readonly lateEvents: number
  /** Events that a turn has dealt with. */
  readonly read: number
  readonly messages: number
  /** Those of them that wait for company: they were sent soon after a turn. */
  readonly early: number
  readonly lastSeq: number
  /** Of the actor: 0 is nobody. */
  readonly owner: number
  readonly epoch: number
}

/** What a process remembers of the session. */
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
  /** It was not read but remembered. */
  readonly remembered: boolean
  /** It is not to be decided by memory (again). */
  readonly reads: boolean
  /** What the statement that is under way sees. */
  readonly snapshot: Database | null
  readonly looked: boolean
  readonly tells: boolean
  /** The version that its statement has returned. */
  readonly version: number
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
  readonly writes: number
  readonly faults: number
  readonly senders: readonly Sender[]
  readonly workers: readonly Worker[]
  /** By process. */
  readonly known: readonly (Known | null)[]
}

export const RULES = {
  stale: 'a decision is written that was made from an earlier state of the session',
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

/** COMMIT of whoever holds the row. A new version of the row is there, or it is left as it was. */
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

/** The highest sequence among events; -1: there are none. */
export function highestOf(events: number): number {
  return 31 - Math.clz32(events)
}

/** Equal for states that differ in the names of versions and writers and in epochs only: all that counts is which are equal. */
export function canonicalCoalesced(state: State): string {
  const names = new Map<number, number>([[0, 0]])
  const name = (write: number) => {
    if (!names.has(write)) names.set(write, names.size)
    return names.get(write)
  }
  const seenText = (seen: Seen | null) =>
    seen === null ? '-' : `${name(seen.version)},${seen.events},${seen.watermark}`
  const text = (database: Database) => {
    const { writer, lateEvents, read, messages, early, lastSeq, owner } = database
    return [seenText(database), name(writer), lateEvents, read, messages, early, lastSeq, owner].join()
  }
  const snapshotText = (snapshot: Database | null) =>
    snapshot === null
      ? '-'
      : `${name(snapshot.version)},${snapshot.watermark},${name(snapshot.writer)},${snapshot.messages === 0}`
  const { database, durable, locked, faults } = state
  // Epochs of the crashed past may come again; those are compared, too.
  const epochs = [database.epoch, durable.epoch, ...state.workers.map(({ epoch }) => epoch)]
  const lowest = Math.min(...epochs)
  return [
    text(database),
    text(durable),
    locked,
    faults,
    epochs.map((epoch) => epoch - lowest).join(),
    ...state.senders.map(
      ({ place, seen, remembered, reads, snapshot, looked, tells, version }) =>
        `${place} ${seenText(seen)} ${remembered} ${reads} ${snapshotText(snapshot)} ${looked} ${tells} ${name(version)}`,
    ),
    ...state.workers.map(({ place, head, seen, more }) => `${place} ${head} ${seen} ${more}`),
    ...state.known.map((known) => `${seenText(known)} ${known?.invalidated}`),
  ].join('|')
}
