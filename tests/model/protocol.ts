/**
 * The actor protocol of `src/actors/*statements.ts` as a model to be explored, at the granularity of statements and row
 * locks.
 *
 * Others see the writes of a transaction only after it commits. A statement that waits for a row lock re-reads the row when it
 * gets the lock, but does not repeat its subqueries. `skip locked` does not wait.
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
  MAX_MESSAGES,
  messageRule,
  NEW_WORKER,
  type ProtocolOptions,
  type Sender,
  type State,
  senderNumbers,
  setDatabase,
  unlock,
  workerNumbers,
} from './state.ts'
import { workerSteps } from './worker.ts'

/** The protocol as a model to be explored. Goal: every message was sent and applied. */
export function protocol(options: ProtocolOptions): Model<State> {
  if (options.messages > MAX_MESSAGES) throw new RangeError(`more than ${MAX_MESSAGES} messages`)
  const all = (1 << options.messages) - 1
  const epochsFall = options.serverCrashes === true
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
    steps(state) {
      const steps: Step<State>[] = []
      for (const index of different(senderNumbers(state))) steps.push(...senderSteps(options, state, index))
      for (const index of different(workerNumbers(state, epochsFall)))
        steps.push(...workerSteps(options, state, index + 1))
      steps.push(...serverSteps(options, state))
      return steps
    },
    keyOf: (state) => canonicalKey(state, epochsFall),
    isGoal: ({ database, senders }) =>
      database.applied === all && senders.every(({ place }) => place === 'done'),
  }
}

/** The indexes of different numbers. Of two workers or senders that differ in nothing, the second leads to the same states. */
function different(numbers: readonly number[]): readonly number[] {
  return [...numbers.keys()].filter((index) => numbers.indexOf(numbers[index]!) === index)
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
      // Its COMMIT waits for the disk, and so for every earlier commit.
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
        label: `${who} sends the wake-up for message ${seq}`,
        next: { ...done, notifiers: done.notifiers | bit(seq) },
      }
      const lost = fault(state, `the wake-up for message ${seq} is lost`, () => done)
      return [wakeUps, ...lost]
    }
    case 'done':
      return []
  }
}

// The server

function serverSteps({ serverCrashes }: ProtocolOptions, state: State): readonly Step<State>[] {
  const steps: Step<State>[] = [...ghostSteps(state)]
  if (state.database.waiting !== 0)
    steps.push({ label: 'the retry is due', next: setDatabase(state, { waiting: 0 }) })
  if (state.notifiers !== 0)
    steps.push(...fault(state, 'Redis loses its data', () => ({ ...state, notifiers: 0 })))
  if (!serverCrashes) return steps
  if (canonicalDatabase(state.durable) !== canonicalDatabase(state.database))
    steps.push({ label: 'the server writes its log', next: { ...state, durable: state.database } })
  return [...steps, ...fault(state, 'the server crashes', () => crash(state))]
}

/** Open transactions are rolled back and commits not yet on disk are undone. Workers keep what they remember. */
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
