/**
 * The model of messages that are left out beside a waiting one (`unless: 'waiting'` in `src/actors/mailbox.ts`), without any lock on rows of
 * the domain. It has one actor, its senders, its workers, and PostgreSQL at READ COMMITTED.
 *
 * A sender writes a row and sends. Its statement looks for a waiting message in its snapshot, then locks the mailbox, and compares the number of the
 * message with `begun_seq` of the locked row. A turn reads the rows at any moment after its claim, without a lock, and its message goes when it ends.
 * Claims, fences and removals follow the protocol, which has its own model (protocol.ts).
 */
import type { Model, Step } from './explorer.ts'

export type WaitingMistake =
  | 'the message of a turn that has begun counts as waiting'
  | 'the lock of the mailbox ends before the transaction'
  | 'begun_seq is compared as in the snapshot'
  | 'an actor that is kept is read without raising begun_seq'
  | 'the read goes beyond begun_seq'

export interface WaitingOptions {
  readonly senders: number
  readonly workers: number
  readonly faults: number
  readonly mistake?: WaitingMistake
}

/** Sets of messages and rows are bit masks: message `n` is bit `n - 1`. */
interface Database {
  readonly lastSeq: number
  readonly begun: number
  readonly messages: number
  /** 0: idle. */
  readonly owner: number
  readonly rows: number
  /** Rows that a finished turn has read. */
  readonly read: number
}

interface Sender {
  readonly place: 'new' | 'looked' | 'sent' | 'done'
  /** The waiting message in the snapshot, and `begun_seq` there. */
  readonly waiting: number
  readonly begunSeen: number
  /** It sends a message; false: it leaves it out. */
  readonly sends: boolean
}

interface Worker {
  readonly place: 'idle' | 'held' | 'turn' | 'ready'
  readonly lastSeq: number
  /** The messages that its turns handle together. */
  readonly due: number
  readonly seen: number
}

interface State {
  readonly database: Database
  /** The number of the sender that holds the mailbox; 0: none. */
  readonly locked: number
  readonly senders: readonly Sender[]
  readonly workers: readonly Worker[]
  readonly faults: number
}

const IDLE: Worker = { place: 'idle', lastSeq: 0, due: 0, seen: 0 }
const NEW: Sender = { place: 'new', waiting: 0, begunSeen: 0, sends: false }
const bit = (n: number) => 1 << (n - 1)
const newest = (messages: number) => 32 - Math.clz32(messages)

/** Goal: a turn has read the row of every sender. */
export function waiting({ senders, workers, faults, mistake }: WaitingOptions): Model<State> {
  const all = (1 << senders) - 1
  return {
    initial: {
      // A message waits already: senders before these have sent it.
      database: { lastSeq: 1, begun: 0, messages: 1, owner: 0, rows: 0, read: 0 },
      locked: 0,
      senders: Array.from({ length: senders }, () => NEW),
      workers: Array.from({ length: workers }, () => IDLE),
      faults,
    },
    steps: (state) => [
      ...state.senders.flatMap((_, index) => senderSteps(state, index, mistake)),
      ...state.workers.flatMap((_, index) => workerSteps(state, index, mistake)),
    ],
    keyOf: (state) => JSON.stringify(state),
    isGoal: ({ database, senders: present }) =>
      (database.read & all) === all && present.every(({ place }) => place === 'done'),
  }
}

function senderSteps(state: State, index: number, mistake?: WaitingMistake): readonly Step<State>[] {
  const sender = state.senders[index]!
  const { database } = state
  const me = index + 1
  const go = (label: string, change: Partial<Sender>, more: Partial<State> = {}): Step<State> => ({
    label: `sender ${me} ${label}`,
    next: { ...state, ...more, senders: state.senders.with(index, { ...sender, ...change }) },
  })
  switch (sender.place) {
    case 'new':
      return [
        go('looks for a waiting message', {
          place: 'looked',
          waiting: newest(database.messages),
          begunSeen: database.begun,
        }),
      ]
    case 'looked': {
      if (state.locked !== 0) return []
      const begun = mistake === 'begun_seq is compared as in the snapshot' ? sender.begunSeen : database.begun
      const isBegun =
        mistake !== 'the message of a turn that has begun counts as waiting' && sender.waiting <= begun
      const sends = sender.waiting === 0 || isBegun
      const keeps = sends || mistake !== 'the lock of the mailbox ends before the transaction'
      return [
        go(
          sends ? 'locks the mailbox and sends' : 'locks the mailbox and leaves out its message',
          { place: 'sent', sends },
          keeps ? { locked: me } : {},
        ),
      ]
    }
    case 'sent': {
      const rows = database.rows | bit(me)
      const stored = sender.sends
        ? { lastSeq: database.lastSeq + 1, messages: database.messages | bit(database.lastSeq + 1) }
        : {}
      return [
        go(
          'commits',
          { place: 'done', waiting: 0, begunSeen: 0 },
          { database: { ...database, ...stored, rows }, locked: state.locked === me ? 0 : state.locked },
        ),
      ]
    }
    case 'done':
      return []
  }
}

function workerSteps(state: State, index: number, mistake?: WaitingMistake): readonly Step<State>[] {
  const worker = state.workers[index]!
  const { database } = state
  const me = index + 1
  const go = (label: string, change: Partial<Worker>, row: Partial<Database> = {}): Step<State> => ({
    label: `worker ${me} ${label}`,
    next: {
      ...state,
      database: { ...database, ...row },
      workers: state.workers.with(index, { ...worker, ...change }),
    },
  })
  const faults: readonly Step<State>[] =
    state.faults === 0 || worker.place === 'idle'
      ? []
      : [
          {
            ...go('is lost in its turn, and its lease runs out', IDLE, { owner: 0 }),
            isFault: true,
          },
        ].map(({ next, ...step }) => ({ ...step, next: { ...next, faults: state.faults - 1 } }))
  const isFree = state.locked === 0
  switch (worker.place) {
    case 'idle':
      // The sweep finds the message; a claim skips a locked mailbox.
      if (database.messages === 0 || database.owner !== 0 || !isFree) return faults
      return [go('claims', { place: 'held' }, { owner: me, begun: database.lastSeq }), ...faults]
    case 'held': {
      const readable =
        mistake === 'the read goes beyond begun_seq' ||
        mistake === 'an actor that is kept is read without raising begun_seq'
          ? database.messages
          : database.messages & (2 ** database.begun - 1)
      const lastSeq =
        readable === database.messages ? Math.max(database.begun, newest(readable)) : database.begun
      if (readable === 0) return [...leave(database, go, isFree, mistake), ...faults]
      return [go('reads the mailbox', { place: 'turn', due: readable, lastSeq }), ...faults]
    }
    case 'turn':
      return [go('reads the rows', { place: 'ready', seen: database.rows }), ...faults]
    case 'ready': {
      if (!isFree) return faults
      const messages = database.messages & ~worker.due
      const read = database.read | worker.seen
      const isIdle = messages === 0 && database.lastSeq === worker.lastSeq
      return [
        isIdle
          ? go('commits and releases the actor', IDLE, { messages, read, owner: 0 })
          : go(
              'commits and keeps the actor',
              { ...IDLE, place: 'held' },
              { messages, read, begun: kept(database, mistake) },
            ),
        ...faults,
      ]
    }
  }
}

const kept = ({ begun, lastSeq }: Database, mistake?: WaitingMistake) =>
  mistake === 'an actor that is kept is read without raising begun_seq' ? begun : lastSeq

/** Releases the actor, unless a message was sent since it was read. */
function leave(
  database: Database,
  go: (label: string, change: Partial<Worker>, row?: Partial<Database>) => Step<State>,
  isFree: boolean,
  mistake?: WaitingMistake,
): readonly Step<State>[] {
  if (!isFree) return []
  return database.lastSeq === database.begun
    ? [go('releases the actor', IDLE, { owner: 0 })]
    : [go('keeps the actor', {}, { begun: kept(database, mistake) })]
}
