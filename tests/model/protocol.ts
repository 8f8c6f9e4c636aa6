/**
 * The actor protocol of `src/actors/statements.ts` as a model to be explored, at the granularity of statements and row
 * locks.
 *
 * The rule: what a transaction wrote is seen by others when it commits, and not before; a statement that waits for a row lock
 * looks at the row again when it gets it (but not at its subqueries); `skip locked` does not wait.
 */
import type { Model, Step } from './explorer.ts'
import {
  applyTurn,
  bit,
  canonicalDatabase,
  canonicalKey,
  EMPTY,
  fault,
  GHOST,
  IN_TRANSACTION,
  isLockedFor,
  leave,
  messageRule,
  NEW_WORKER,
  type ProtocolOptions,
  type Sender,
  type State,
  setDatabase,
  unlock,
} from './state.ts'
import { workerSteps } from './worker.ts'

/** The protocol as a model to be explored. Goal: every message was sent and applied. */
export function protocol(options: ProtocolOptions): Model<State> {
  const all = (1 << options.messages) - 1
  return {
    initial: {
      database: EMPTY,
      durable: EMPTY,
      exclusive: 0,
      shared: 0,
      deleting: 0,
      ghost: null,
      notifiers: 0,
      faults: options.faults,
      workers: Array.from({ length: options.workers }, () => NEW_WORKER),
      senders: Array.from({ length: options.messages }, () => ({ place: 'new', seq: 0 })),
    },
    steps: (state) => [
      ...state.senders.flatMap((_, index) => senderSteps(options, state, index)),
      ...state.workers.flatMap((_, index) => workerSteps(options, state, index + 1)),
      ...serverSteps(options, state),
    ],
    keyOf: (state) => canonicalKey(state, options.serverCrashes === true),
    isGoal: ({ database, senders }) =>
      database.applied === all && senders.every(({ place }) => place === 'done'),
  }
}

// Senders

function senderSteps(options: ProtocolOptions, state: State, index: number): readonly Step<State>[] {
  const { place, seq } = state.senders[index]!
  const who = `sender ${index + 1}`
  const set = (sender: Sender, from = state): State => ({
    ...from,
    senders: from.senders.with(index, sender),
  })
  switch (place) {
    case 'new': {
      if (isLockedFor(state, -index - 1)) return []
      const next = set({ place: 'open', seq: state.database.lastSeq + 1 })
      return [
        {
          label: `${who} locks the actor and stores message ${state.database.lastSeq + 1}`,
          next: { ...next, exclusive: -index - 1 },
        },
      ]
    }
    case 'open': {
      const { database } = state
      const after = { ...database, lastSeq: seq, present: database.present | bit(seq) }
      // Its COMMIT waits for the disk, and so for every commit before it.
      const next = {
        ...set({ place: 'committed', seq }),
        database: after,
        durable: options.serverCrashes ? after : EMPTY,
      }
      return [{ label: `${who} commits message ${seq}`, next: { ...next, exclusive: 0 } }]
    }
    case 'committed': {
      const done = set({ place: 'done', seq })
      if (!options.notifiers) return [{ label: `${who} ends`, next: done }]
      const wakeUps = {
        label: `${who} wakeUps for message ${seq}`,
        next: { ...done, notifiers: done.notifiers | bit(seq) },
      }
      const lost = fault(state, `the notifier for message ${seq} is lost`, () => done)
      return [wakeUps, ...lost]
    }
    case 'done':
      return []
  }
}

// The server

function serverSteps({ serverCrashes }: ProtocolOptions, state: State): readonly Step<State>[] {
  const { waiting } = state.database
  const due = { label: 'the retry is due', next: setDatabase(state, { waiting: 0 }) }
  const flushed = { label: 'the server writes its log', next: { ...state, durable: state.database } }
  const isFlushed = canonicalDatabase(state.durable) === canonicalDatabase(state.database)
  return [
    ...(waiting === 0 ? [] : [due]),
    ...ghostSteps(state),
    ...(serverCrashes && !isFlushed ? [flushed] : []),
    ...(state.notifiers === 0
      ? []
      : fault(state, 'Redis forgets everything', () => ({ ...state, notifiers: 0 }))),
    ...(serverCrashes ? fault(state, 'the server crashes', () => crash(state)) : []),
  ]
}

/** Open transactions are rolled back, commits that nobody waited for are gone; what workers remember stays. */
function crash(state: State): State {
  let after: State = { ...state, database: state.durable, ghost: null }
  for (const [index, { place }] of state.workers.entries())
    if (IN_TRANSACTION.has(place)) after = leave(after, index + 1, 0)
  const senders = after.senders.map(
    (sender): Sender => (sender.place === 'open' ? { place: 'new', seq: 0 } : sender),
  )
  return { ...after, senders, exclusive: 0, shared: 0, deleting: 0 }
}

/** The COMMIT of a lost connection arrives, or the server notices that the connection is gone. */
function ghostSteps(state: State): readonly Step<State>[] {
  const { ghost } = state
  if (ghost === null) return []
  const { head, released } = ghost
  const broken = messageRule(state.database.applied, head)
  const committed = { ...applyTurn(state, GHOST, head, released), ghost: null }
  return [
    {
      label: `the lost COMMIT of message ${head} arrives`,
      next: committed,
      ...(broken === undefined ? {} : { broken }),
    },
    { label: 'the server rolls back the lost transaction', next: { ...unlock(state, GHOST), ghost: null } },
  ]
}
