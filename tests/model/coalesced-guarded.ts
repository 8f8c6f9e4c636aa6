/**
 * The guarded way of a request in the model. It is decided by memory or by a read, written by one statement, and remembered. A
 * write by memory that is refused is read; a write that is refused after a read takes the way with locks.
 */
import {
  type CoalescedOptions,
  highestOf,
  type Known,
  NEW,
  RULES,
  type Seen,
  type Sender,
  type State,
  set,
} from './coalesced-state.ts'
import type { Step } from './explorer.ts'

/** Null if the sender is not on this way. */
export function guardedSteps(
  options: CoalescedOptions,
  state: State,
  sender: Sender,
  index: number,
): readonly Step<State>[] | null {
  const snapshot = state.database
  switch (sender.place) {
    case 'new':
      return [decide(options, state, sender, index)]
    case 'decided': {
      const label = `sender ${index + 1} begins its write: the snapshot is taken`
      return [{ label, next: set(state, index, { place: 'writing', snapshot }) }]
    }
    case 'writing':
      return write(options, state, sender, index)
    case 'stored':
      return [note(options, state, sender, index)]
    default:
      return null
  }
}

/** Decides by memory if that is allowed, otherwise by a read. */
function decide(options: CoalescedOptions, state: State, sender: Sender, index: number): Step<State> {
  const { process } = options.senders[index]!
  const known = state.known[process] ?? null
  const isKnown = known !== null && !known.invalidated && index > highestOf(known.events)
  if (isKnown && !sender.reads)
    return {
      label: `sender ${index + 1} remembers the session`,
      next: set(state, index, { place: 'decided', seen: seenOf(known), remembered: true }),
    }
  const label = `sender ${index + 1} reads the session`
  const { database } = state
  if ((database.events & (1 << index)) !== 0)
    return { label: `${label}: its event is stored`, next: set(state, index, { ...NEW, place: 'done' }) }
  if (index <= database.watermark)
    return {
      label: `${label}: its event is late, it takes the way with locks`,
      next: leftOut(options, state, index, 'to lock'),
    }
  const seen = seenOf(database)
  return { label, next: set(state, index, { place: 'decided', seen, remembered: false, reads: true }) }
}

/**
 * The one statement, from its request for the row lock. The version, the watermark and `not exists (… actor_message …)` come from the
 * snapshot, however long it waited for the row. Only the write that made the row is checked again.
 */
function write(
  options: CoalescedOptions,
  state: State,
  { seen, snapshot, remembered }: Sender,
  index: number,
): readonly Step<State>[] {
  const { mistake } = options
  const me = index + 1
  const { database } = state
  if (seen === null || snapshot === null) throw new Error('this write has not begun')
  const away: Step<State> = {
    label: `sender ${me} finds the session changed, and ${remembered ? 'reads it' : 'takes the way with locks'}`,
    next: leftOut(options, state, index, remembered ? 'new' : 'to lock'),
  }
  const creates = seen.version === 0
  if (!creates && mistake !== 'the version is not compared' && seen.version !== snapshot.version)
    return [away]
  if (!creates && mistake !== 'the watermark is not compared' && index <= snapshot.watermark) return [away]
  if (state.locked !== 0) return []
  if (creates && database.version !== 0) return [away] // on conflict do nothing
  if (!creates && !isAsInSnapshot(options, snapshot, database)) return [away]
  if ((database.events & (1 << index)) !== 0) return [away] // a unique index
  const tells = creates || snapshot.messages === 0
  return [
    {
      label: `sender ${me} locks the session and ${tells ? 'sends a message' : 'leaves out its message'}`,
      next: { ...set(state, index, { place: 'open', tells, snapshot: null }), locked: me },
      ...(seen.events === database.events ? {} : { broken: RULES.stale }),
    },
  ]
}

function isAsInSnapshot(
  { mistake }: CoalescedOptions,
  snapshot: State['database'],
  database: State['database'],
): boolean {
  if (mistake === 'nothing is compared again under the lock') return true
  if (mistake === 'only the version is compared again under the lock')
    return snapshot.version === database.version
  return snapshot.writer === database.writer
}

/** Continues in another way, because the process can no longer trust what it remembers. */
export function leftOut(
  { senders, neverInvalidates, mistake }: CoalescedOptions,
  state: State,
  index: number,
  place: 'new' | 'to lock',
): State {
  const { process } = senders[index]!
  const known = state.known[process] ?? null
  const isBlind = mistake === 'a wrong memory is trusted again'
  const invalidates = known !== null && neverInvalidates !== true && !isBlind
  return {
    ...set(state, index, { ...NEW, place, reads: place === 'new' && !isBlind }),
    known: invalidates ? state.known.with(process, { ...known, invalidated: true }) : state.known,
  }
}

/** After the answer: remembers what was stored. No other request of this process wrote to the session meanwhile. */
function note(
  { senders }: CoalescedOptions,
  state: State,
  { seen, version }: Sender,
  index: number,
): Step<State> {
  const { process } = senders[index]!
  const before = state.known[process] ?? null
  if (seen === null) throw new Error('nothing was stored')
  const known: Known = {
    version,
    events: seen.events | (1 << index),
    watermark: seen.watermark,
    invalidated: before?.invalidated === true && before.version !== seen.version,
  }
  return {
    label: `sender ${index + 1} remembers what it stored`,
    next: { ...set(state, index, { ...NEW, place: 'done' }), known: state.known.with(process, known) },
  }
}

function seenOf({ version, events, watermark }: Seen): Seen {
  return { version, events, watermark }
}
