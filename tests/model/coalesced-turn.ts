/**
 * The turns in the model of left-out messages. Claim, fence and removal follow the protocol, which has its own model
 * (protocol.ts); here they are as short as possible.
 */
import {
  type CoalescedOptions,
  commit,
  type Database,
  highestOf,
  type State,
  setWorker,
  type Worker,
} from './coalesced-state.ts'
import type { Step } from './explorer.ts'

const OVER = { place: 'idle', head: 0, seen: 0, more: false } as const

/** Every step that the worker may take, its faults included. */
export function turnSteps(options: CoalescedOptions, state: State, index: number): readonly Step<State>[] {
  return [...act(options, state, index), ...workerFaults(state, index)]
}

function act(options: CoalescedOptions, state: State, index: number): readonly Step<State>[] {
  const worker = state.workers[index]!
  const { database } = state
  const go = (label: string, change: Partial<Worker>, locks = false): Step<State> => ({
    label: `worker ${index + 1} ${label}`,
    next: { ...setWorker(state, index, change), locked: locks ? -index - 1 : state.locked },
  })
  switch (worker.place) {
    case 'idle':
      // A worker that claims before the message is due releases the actor again: only the epoch changes.
      return dueHead(database) !== 0 && (database.owner === 0 || database.owner === index + 1)
        ? [claim(state, index)]
        : []
    case 'held':
      return [lookAtHead(state, index)]
    case 'turn':
      return beginTurn(options, state, go)
    case 'asked':
    case 'waits':
      if (state.locked !== 0) return []
      return [go('locks the session', { place: worker.place === 'waits' ? 'ready' : 'locked' }, true)]
    case 'locked':
      if (options.turns === 'short') return [go('reads', { place: 'ready', seen: waitingOf(database) })]
      return [go('checks what is left', { place: 'ready', more: isLeft(options, state, worker) })]
    case 'ready':
      return [finish(options, state, index)]
  }
}

/** The first statement of a turn. */
function beginTurn(
  { turns, mistake }: CoalescedOptions,
  state: State,
  go: (label: string, change: Partial<Worker>) => Step<State>,
): readonly Step<State>[] {
  if (turns === 'long')
    return [go('reads without a lock, and does its I/O', { place: 'asked', seen: state.database.events })]
  const seen = waitingOf(state.database)
  switch (mistake) {
    case 'the turn reads before it locks':
      return [go('reads', { place: 'waits', seen })]
    case 'the turn reads in the statement that locks':
      return [go('begins to lock: the snapshot is taken', { place: 'waits', seen })]
    default:
      // The locking statement returns only the row itself, so its snapshot does not matter.
      return [go('asks for the session', { place: 'asked' })]
  }
}

/** What a turn goes by: events above the watermark, whatever is missing between them, and those to go back for. */
function waitingOf({ events, watermark, lateEvents }: Database): number {
  return (events & ~((1 << (watermark + 1)) - 1)) | lateEvents
}

function isLeft({ mistake }: CoalescedOptions, { database }: State, { seen }: Worker): boolean {
  return (
    mistake !== 'the long turn does not check what arrived meanwhile' &&
    (database.events & ~database.read & ~seen) !== 0
  )
}

/** The first message; 0 if it is not due yet. Then it hides the messages behind it, and the worker releases the actor. */
function dueHead({ messages, early }: State['database']): number {
  const first = messages & -messages
  return (first & early) === 0 ? first : 0
}

function claim(state: State, index: number): Step<State> {
  const epoch = state.database.epoch + 1
  const database = { ...state.database, epoch, owner: index + 1 }
  return {
    label: `worker ${index + 1} claims the actor`,
    next: setWorker({ ...state, database }, index, { place: 'held', epoch }),
  }
}

function lookAtHead(state: State, index: number): Step<State> {
  const { database } = state
  const head = dueHead(database)
  if (!isOurs(state, index))
    return { label: `worker ${index + 1} has lost the actor`, next: setWorker(state, index, OVER) }
  if (head === 0) {
    const released = { ...state, database: { ...database, owner: 0 } }
    return { label: `worker ${index + 1} releases the actor`, next: setWorker(released, index, OVER) }
  }
  return {
    label: `worker ${index + 1} takes the message`,
    next: setWorker(state, index, { place: 'turn', head }),
  }
}

/** Fence, removal and COMMIT. The turn already has the lock that its update of the row needs. */
function finish({ mistake, turns }: CoalescedOptions, state: State, index: number): Step<State> {
  const { head, seen, more } = state.workers[index]!
  const { database } = state
  const isHead = head === (database.messages & -database.messages)
  if (!isOurs(state, index) || !isHead)
    return {
      label: `worker ${index + 1} is fenced off`,
      next: { ...setWorker(state, index, OVER), locked: 0 },
    }
  const rest = database.messages & ~head
  const messages = more ? rest | (1 << database.lastSeq) : rest
  const lastSeq = database.lastSeq + (more ? 1 : 0)
  const hasNews = (seen & ~database.read) !== 0
  const writesRow = hasNews || mistake !== 'a turn without news does not write the row'
  const progress =
    turns === 'short'
      ? { watermark: Math.max(database.watermark, highestOf(seen)), lateEvents: database.lateEvents & ~seen }
      : {}
  const next = commit(state, { messages, lastSeq, read: database.read | seen, ...progress }, { writesRow })
  return {
    label: `worker ${index + 1} commits${more ? ', with a message to itself' : ''}`,
    next: setWorker(next, index, { ...OVER, place: 'held' }),
  }
}

function isOurs({ database, workers }: State, index: number): boolean {
  return database.epoch === workers[index]!.epoch && database.owner === index + 1
}

function workerFaults(state: State, index: number): readonly Step<State>[] {
  if (state.faults === 0) return []
  const { place } = state.workers[index]!
  const { owner } = state.database
  const faults = state.faults - 1
  const step = (label: string, next: State): Step<State> => ({
    label: `FAULT: worker ${index + 1} ${label}`,
    next: { ...next, faults },
    isFault: true,
  })
  const locked = state.locked === -index - 1 ? 0 : state.locked
  if (place !== 'idle') return [step('is lost in its turn', { ...setWorker(state, index, OVER), locked })]
  if (owner === 0 || owner === index + 1) return []
  return [step(`takes the actor over from worker ${owner}, which lives`, claim(state, index).next)]
}
