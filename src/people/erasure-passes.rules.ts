/** When an erasure goes on to its next pass, and when it has ended. Pure. */

/** An erasure with a pass that changes something each time has a fault, and must end all the same. */
const MOST_PASSES = 12

const MINUTE = 60_000
/** A transaction of this service that has not written in this time will not: the server ends it (`idle_in_transaction_session_timeout`). */
const LONGEST_READ_MS = 10 * MINUTE
/** What is still running then is beyond the longest turn. */
const LONGEST_WAIT_MS = 24 * 60 * MINUTE

const SHORTEST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 15_000

/** The first pass begins before the wait, so a second one always follows. */
export const needsAnotherPass = (pass: number, changed: boolean): boolean =>
  pass < MOST_PASSES && (changed || pass === 1)

export interface Awaited {
  readonly waitedMs: number
  /** Transactions that are open yet. A backup is one that only reads. */
  readonly open: number
  /** Those of them that have written. */
  readonly writing: number
  readonly turns: number
  /** Files that were received before the request are not processed yet. */
  readonly awaited: boolean
}

export function isWaitOver({ waitedMs, open, writing, turns, awaited }: Awaited): boolean {
  if (waitedMs >= LONGEST_WAIT_MS) return true
  if (writing > 0 || turns > 0 || awaited) return false
  return open === 0 || waitedMs >= LONGEST_READ_MS
}

/** The pause grows with the time that has passed. */
export const pauseMs = (waitedMs: number): number =>
  Math.round(Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, waitedMs / 4)))

/** Kinds of actors whose turns last for hours, and the keys of those that concern the person. */
export interface OwnActors {
  readonly kinds: readonly string[]
  readonly keys: ReadonlySet<string>
}

/** False for the turn of an actor that handles no text of the person. */
export function mayNamePerson(key: string, owned: readonly OwnActors[]): boolean {
  const kind = key.slice(0, key.indexOf(':'))
  return owned.every(({ kinds, keys }) => !kinds.includes(kind) || keys.has(key))
}
