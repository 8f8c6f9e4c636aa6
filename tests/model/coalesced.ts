/**
 * The model of guarded writes (`src/hear/agents/ingest/guarded.store.ts`), decided by a read or by memory (`src/hear/agents/ingest/remembered-sessions.ts`),
 * with concurrent transactions and turns, and of messages that are left out under the lock of the session's row (waiting.ts has the general way).
 * It has one session, its senders, its turns, and PostgreSQL at READ COMMITTED.
 *
 * A statement sees what was committed when it began, even after it has waited for a lock. It re-reads only the row that it waited
 * for. Every step below is one statement, or half of one that waits.
 */
import { guardedSteps, leftOut } from './coalesced-guarded.ts'
import {
  type CoalescedOptions,
  canonicalCoalesced,
  commit,
  type Database,
  NEW,
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
      writes: 0,
      faults: options.faults,
      senders: options.senders.map(() => NEW),
      workers: Array.from({ length: options.workers }, () => ({
        place: 'idle',
        epoch: 0,
        head: 0,
        seen: 0,
        more: false,
      })),
      known: [...new Set(options.senders.map(({ process }) => process))].map(() => null),
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
      database.events === all &&
      (database.read & all) === all &&
      senders.every(({ place }) => place === 'done'),
  }
}

function senderSteps(
  options: CoalescedOptions,
  state: State,
  sender: Sender,
  index: number,
): readonly Step<State>[] {
  const { way, process } = options.senders[index]!
  const isUnderWay = (other: Sender, n: number) =>
    n !== index && options.senders[n]!.process === process && other.place !== 'new' && other.place !== 'done'
  if (sender.place === 'new') {
    if (state.senders.some(isUnderWay)) return []
    if (way === 'locked')
      return [
        {
          label: `sender ${index + 1} begins a transaction`,
          next: leftOut(options, state, index, 'to lock'),
        },
      ]
  }
  return guardedSteps(options, state, sender, index) ?? lockedSteps(options, state, sender, index)
}

/** A transaction that locks, reads, decides and writes. */
function lockedSteps(
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
    case 'to lock': {
      if (options.mistake === 'the sender looks for a message before it locks the row' && !sender.looked)
        return [go('looks for a message', { looked: true, tells: database.messages === 0 })]
      if (database.version === 0) return [go('finds no session', { place: 'to create' })]
      return isFree ? [go('locks the session', { place: sender.looked ? 'open' : 'locking done' }, true)] : []
    }
    case 'to create':
      if (!isFree) return [] // waits for the row that another sender has inserted
      return database.version === 0
        ? [go('creates the session, with a message', { place: 'open', tells: true }, true)]
        : [
            go('finds the session created by another sender, and starts again', {
              place: 'to lock',
              looked: false,
            }),
          ]
    case 'locking done': {
      if ((database.events & (1 << index)) !== 0)
        return [
          {
            label: `sender ${me} finds its event already stored`,
            next: { ...set(state, index, { ...NEW, place: 'done' }), locked: 0 },
          },
        ]
      const tells = database.messages === 0
      return [
        go(tells ? 'finds no message and sends one' : 'leaves out its message', { place: 'open', tells }),
      ]
    }
    case 'open':
      return [commitRequest(options, state, sender, index)]
    default:
      return []
  }
}

/** COMMIT of both ways. */
function commitRequest(
  { mistake, pauses = false }: CoalescedOptions,
  state: State,
  { seen, tells }: Sender,
  index: number,
): Step<State> {
  const { database } = state
  const bit = 1 << index
  const wasGuarded = seen !== null
  // The guarded statement does not handle late events: it is for events beyond the watermark.
  const isLate = !wasGuarded && index <= database.watermark
  const hadTurn = pauses && database.read !== 0
  const sends = tells && !(hadTurn && mistake === 'the message of a session that just had a turn is not sent')
  const message = sends ? 1 << database.lastSeq : 0
  const stored = {
    messages: database.messages | message,
    // How long ago a turn was is a matter of time, so the message may become due at any moment.
    early: hadTurn ? database.early | message : database.early,
    lastSeq: database.lastSeq + (sends ? 1 : 0),
    events: database.events | bit,
    lateEvents: isLate ? database.lateEvents | bit : database.lateEvents,
  }
  const isNew = database.version === 0
  const standsStill =
    mistake === 'the version is the clock alone, which may stand still' ||
    (mistake === 'the locked way does not change the version' && !wasGuarded)
  const committed = commit(state, stored, { movesVersion: isNew || !standsStill })
  const { version } = committed.database
  const next = set(committed, index, wasGuarded ? { place: 'stored', version } : { ...NEW, place: 'done' })
  // Its COMMIT waits for the disk, and so for every earlier commit.
  const durable = mistake === 'a request does not wait for the disk' ? state.durable : next.database
  return { label: `sender ${index + 1} commits`, next: { ...next, durable } }
}

function senderFaults(
  { senders, faults }: CoalescedOptions,
  state: State,
  { place }: Sender,
  index: number,
): readonly Step<State>[] {
  if (faults === 0 || state.faults === 0 || place === 'new' || place === 'done') return []
  const { process } = senders[index]!
  const locked = state.locked === index + 1 ? 0 : state.locked
  const next = { ...set(state, index, NEW), locked, faults: state.faults - 1 }
  const step = (label: string, known: State['known']): Step<State> => ({
    label: `FAULT: ${label}, and the client of sender ${index + 1} retries`,
    next: { ...next, known },
    isFault: true,
  })
  return [
    step('a connection is lost', state.known),
    ...(state.known[process] === null
      ? []
      : [step(`process ${process + 1} restarts`, state.known.with(process, null))]),
  ]
}

function serverSteps({ serverCrashes }: CoalescedOptions, state: State): readonly Step<State>[] {
  const { database, durable, faults } = state
  const resent: Database = {
    ...database,
    messages: database.messages | (1 << database.lastSeq),
    lastSeq: database.lastSeq + 1,
  }
  const steps: Step<State>[] = []
  if (database.early !== 0)
    steps.push({
      label: 'the message has waited long enough',
      next: { ...state, database: { ...database, early: 0 }, durable: { ...durable, early: 0 } },
    })
  if (faults > 0 && database.version !== 0 && database.messages === 0 && database.lastSeq < 6)
    steps.push({
      label: 'FAULT: an operator retries the message',
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

/** Open transactions are rolled back and commits not yet on disk are undone. Processes keep what they have read. */
function crash(state: State): State {
  const { durable } = state
  return {
    ...state,
    database: durable,
    locked: 0,
    senders: state.senders.map((sender) =>
      ['new', 'decided', 'stored', 'done'].includes(sender.place) ? sender : NEW,
    ),
    workers: state.workers.map((worker) =>
      ['idle', 'held', 'asked'].includes(worker.place)
        ? worker
        : { ...worker, place: 'held', head: 0, seen: 0, more: false },
    ),
  }
}
