/**
 * Letters that are left out where one is waiting (`sendUnlessWaiting` in `src/actors/mailbox.ts`, the guarded write in
 * `src/agents/ingest.guarded.store.ts`), as a model to be explored: one session, its senders, its turns, and PostgreSQL at
 * READ COMMITTED.
 *
 * The rule: a statement sees what was committed when it began, also after it has waited for a lock; only the row that it waited for
 * is looked at again, as it is then. Every step below is one statement, or half of one that waits.
 */
import {
  begin,
  type CoalescedOptions,
  canonicalCoalesced,
  commit,
  type Database,
  isSame,
  RULES,
  type Sender,
  START,
  type State,
  set,
} from './coalesced-state.ts'
import { turnSteps } from './coalesced-turn.ts'
import type { Model, Step } from './explorer.ts'

/** Goal: every request was stored, and a turn has read what it stored. */
export function coalesced(options: CoalescedOptions): Model<State> {
  const all = (1 << options.senders.length) - 1
  return {
    initial: {
      database: START,
      durable: START,
      locked: 0,
      stamps: 0,
      faults: options.faults,
      senders: options.senders.map(begin),
      workers: Array.from({ length: options.workers }, () => ({
        place: 'idle',
        epoch: 0,
        head: 0,
        seen: 0,
        more: false,
      })),
    },
    steps: (state) => [
      ...state.senders.flatMap((sender, index) => [
        ...senderSteps(options, state, sender, index),
        ...senderFaults(options, state, sender, index),
      ]),
      ...state.workers.flatMap((_, index) => turnSteps(options, state, index)),
      ...serverSteps(options, state),
    ],
    keyOf: canonicalCoalesced,
    isGoal: ({ database, senders }) =>
      database.read === all && senders.every(({ place }) => place === 'done'),
  }
}

function senderSteps(
  options: CoalescedOptions,
  state: State,
  sender: Sender,
  index: number,
): readonly Step<State>[] {
  const { database } = state
  const me = index + 1
  const isFree = state.locked === 0
  const go = (label: string, change: Partial<Sender>, locks = false): Step<State> => ({
    label: `sender ${me} ${label}`,
    next: { ...set(state, index, change), locked: locks ? me : state.locked },
  })
  switch (sender.place) {
    case 'new':
      return sender.kind === 'guarded'
        ? [go('reads the session', { place: 'decided', seen: database })]
        : [go('begins a transaction', { place: 'to lock' })]
    case 'decided':
      return [go('begins its write: the snapshot is taken', { place: 'writing', snapshot: database })]
    case 'writing':
      return guardedWrite(options, state, sender, index)
    case 'to lock': {
      if (options.mistake === 'the letter is looked for before the row is locked' && !sender.looked)
        return [go('looks for a letter', { looked: true, tells: database.letters === 0 })]
      if (!database.exists) return [go('finds no session', { place: 'to create' })]
      return isFree ? [go('locks the session', { place: sender.looked ? 'open' : 'locking done' }, true)] : []
    }
    case 'to create':
      if (!isFree) return [] // on the row that somebody else has inserted
      return database.exists
        ? [
            go('finds the session made by somebody else, and starts over', {
              place: 'to lock',
              looked: false,
            }),
          ]
        : [go('makes the session, with a letter', { place: 'open', tells: true }, true)]
    case 'locking done': {
      const tells = database.letters === 0
      return [go(tells ? 'finds no letter and sends one' : 'leaves its letter out', { place: 'open', tells })]
    }
    case 'open': {
      const letters = sender.tells ? database.letters | (1 << database.mail) : database.letters
      const mail = database.mail + (sender.tells ? 1 : 0)
      const stored = { letters, mail, exists: true, events: database.events | (1 << index) }
      const next = commit(set(state, index, { ...begin(sender.kind), place: 'done' }), stored, true)
      // Its COMMIT waits for the disk, and so for every commit before it.
      return [{ label: `sender ${me} commits`, next: { ...next, durable: next.database } }]
    }
    case 'done':
      return []
  }
}

/**
 * The one statement of the guarded write, from where it asks for the row. `not exists (… actor_message …)` is answered by the
 * snapshot, however long the row was waited for; the row's version is looked at again.
 */
function guardedWrite(
  { mistake }: CoalescedOptions,
  state: State,
  { seen, snapshot }: Sender,
  index: number,
): readonly Step<State>[] {
  const me = index + 1
  const { database, locked } = state
  const leftOut = {
    label: `sender ${me} does not find the session as it was: takes the way with locks`,
    next: set(state, index, { place: 'to lock', seen: null, snapshot: null }),
  }
  if (seen === null || snapshot === null) throw new Error('a write that has not begun')
  const ignores = mistake === 'the version is not compared'
  const byNumber = mistake === 'the version is the number of the transaction alone'
  if (!ignores && seen.exists && !isSame(seen, snapshot, byNumber)) return [leftOut]
  if (locked !== 0) return []
  if (!seen.exists && database.exists) return [leftOut] // on conflict do nothing
  const isAgain = mistake === 'the version is compared in the snapshot only'
  if (!ignores && !isAgain && seen.exists && !isSame(seen, database, byNumber)) return [leftOut]
  const tells = !seen.exists || snapshot.letters === 0
  const isStale = seen.events !== database.events || seen.read !== database.read
  return [
    {
      label: `sender ${me} locks the session and ${tells ? 'sends a letter' : 'leaves its letter out'}`,
      next: { ...set(state, index, { place: 'open', tells, seen: null, snapshot: null }), locked: me },
      // Not where the same mistake is to show what happens to letters.
      ...(isStale && mistake !== 'the version is not compared' && !isAgain ? { broken: RULES.stale } : {}),
    },
  ]
}

function senderFaults(
  { faults }: CoalescedOptions,
  state: State,
  { place, kind }: Sender,
  index: number,
): readonly Step<State>[] {
  if (faults === 0 || state.faults === 0 || place === 'new' || place === 'done') return []
  const locked = state.locked === index + 1 ? 0 : state.locked
  const next = { ...set(state, index, begin(kind)), locked, faults: state.faults - 1 }
  return [
    {
      label: `FAULT: sender ${index + 1} loses its connection, and its client asks again`,
      next,
      isFault: true,
    },
  ]
}

function serverSteps({ serverCrashes }: CoalescedOptions, state: State): readonly Step<State>[] {
  const { database, durable, faults } = state
  const resent: Database = {
    ...database,
    letters: database.letters | (1 << database.mail),
    mail: database.mail + 1,
  }
  const steps: Step<State>[] = []
  if (faults > 0 && database.exists && database.letters === 0 && database.mail < 6)
    steps.push({
      label: 'FAULT: an operator sends the letter again',
      next: { ...state, database: resent, durable: resent, faults: faults - 1 },
      isFault: true,
    })
  if (serverCrashes !== true) return steps
  if (database !== durable)
    steps.push({ label: 'the server writes its log', next: { ...state, durable: database } })
  if (faults > 0)
    steps.push({
      label: 'FAULT: the server crashes',
      next: { ...crash(state), faults: faults - 1 },
      isFault: true,
    })
  return steps
}

/** Open transactions are rolled back, commits that nobody waited for are gone; what processes have read they keep. */
function crash(state: State): State {
  const { durable } = state
  return {
    ...state,
    database: durable,
    locked: 0,
    senders: state.senders.map((sender) =>
      ['new', 'decided', 'done'].includes(sender.place) ? sender : begin(sender.kind),
    ),
    workers: state.workers.map((worker) =>
      ['idle', 'held', 'asked'].includes(worker.place)
        ? worker
        : { ...worker, place: 'held', head: 0, seen: 0, more: false },
    ),
  }
}
