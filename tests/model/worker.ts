/**
 * The steps of a worker, one statement each as in `src/actors/claim-statements.ts` and `statements.ts`, and its faults.
 *
 * A worker that takes no step is paused. Its lease may run out at any moment, and the worker may still continue.
 */
import { beginClaim, claim, claimAndRead, readHead, sweep } from './claim.ts'
import type { Step } from './explorer.ts'
import {
  applyTurn,
  bit,
  fault,
  GHOST,
  isLockedFor,
  isOurs,
  leave,
  lowest,
  type Mistake,
  messageRule,
  NEW_WORKER,
  ownership,
  type ProtocolOptions,
  type State,
  setDatabase,
  setWorker,
  unlock,
  type Worker,
} from './state.ts'

/** Every step that worker `me` (numbered from 1) may take. */
export function workerSteps(options: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const worker = state.workers[me - 1]!
  if (!worker.alive) {
    return worker.lease
      ? [{ label: `the lease of worker ${me} runs out`, next: setWorker(state, me, { lease: false }) }]
      : []
  }
  return [
    ...hear(options, state, me),
    ...act(options, state, me),
    ...beat(state, me),
    ...workerFaults(state, me),
  ]
}

/** Takes a wake-up from the stream. */
function hear({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const seq = lowest(state.notifiers)
  if (seq === 0) return []
  const { place, notified } = state.workers[me - 1]!
  const taken = { ...state, notifiers: state.notifiers & ~bit(seq) }
  const remembered =
    mistake === 'wake-ups for an actor in hand are forgotten' ? notified : Math.max(notified, seq)
  const change: Partial<Worker> = place === 'idle' ? { place: 'called' } : { notified: remembered }
  return [{ label: `worker ${me} reads the wake-up for message ${seq}`, next: setWorker(taken, me, change) }]
}

function beat(state: State, me: number): readonly Step<State>[] {
  if (state.workers[me - 1]!.lease) return []
  return [{ label: `worker ${me} sends a heartbeat again`, next: setWorker(state, me, { lease: true }) }]
}

function workerFaults(state: State, me: number): readonly Step<State>[] {
  if (state.faults === 0) return []
  const { place, lease } = state.workers[me - 1]!
  const dead = { ...NEW_WORKER, alive: false, lease }
  const lastAlive = state.workers.filter(({ alive }) => alive).length === 1
  return [
    ...(lastAlive
      ? []
      : fault(state, `worker ${me} is killed`, () => setWorker(leave(state, me, 0), me, dead))),
    ...(place === 'committing' && state.ghost === null
      ? fault(state, `worker ${me} loses its connection with COMMIT on the way`, () => haunt(state, me))
      : []),
    ...(lease
      ? fault(state, `worker ${me} is paused past its lease`, () => setWorker(state, me, { lease: false }))
      : []),
    ...(place === 'idle' ? [] : fault(state, `worker ${me} loses its connection`, () => leave(state, me, 0))),
    ...(place === 'turn'
      ? fault(state, `the handler of worker ${me} throws`, () => setWorker(state, me, { place: 'failing' }))
      : []),
  ]
}

/** The next statement of a worker; empty if it waits for a lock. */
function act(options: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const { place, flag } = state.workers[me - 1]!
  switch (place) {
    case 'idle':
      return options.sweeps ? sweep(options, state, me) : []
    case 'called':
      return flag ? [claim(state, me)] : beginClaim(options, state, me)
    case 'claiming':
      return [claimAndRead(options, state, me)]
    case 'held':
    case 'half read':
      return [readHead(options, state, me)]
    case 'turn':
      return options.long ? fence(options, state, me) : fenceAndRelease(options, state, me)
    case 'step fenced':
      return [commitStep(options, state, me)]
    case 'working':
      return fenceAndRelease(options, state, me)
    case 'settled':
      return remove(options, state, me)
    case 'committing':
      return [commitTurn(options, state, me)]
    case 'releasing':
      return [beginRelease(state, me)]
    case 'release waits':
      return release(options, state, me)
    case 'leaving':
      return [
        {
          label: `worker ${me} forgets the actor`,
          next: leave(state, me, state.workers[me - 1]!.lastSeq),
        },
      ]
    case 'failing':
      return recordFailure(state, me)
  }
}

/** In a step of a long turn. */
function fence({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const place = 'step fenced'
  if (isLeftOut(mistake))
    return [{ label: `worker ${me} writes, without a fence`, next: setWorker(state, me, { place }) }]
  const isWeak = mistake === 'fence for key share'
  if (!isWeak && state.exclusive !== 0 && state.exclusive !== me) return []
  if (!isOurs(state, me, mistake === 'fence without the owner'))
    return [{ label: `worker ${me} writes: fenced off, rolls back`, next: leave(state, me, 0) }]
  if (!isHead(mistake, state, me)) return [notTheHead(state, me)]
  const locked = isWeak ? state : { ...state, shared: state.shared | (1 << (me - 1)) }
  return [{ label: `worker ${me} writes, and passes the fence`, next: setWorker(locked, me, { place }) }]
}

function isLeftOut(mistake: Mistake | undefined): boolean {
  return mistake === 'no fence' || mistake === 'no fence, and the removed rows are not counted'
}

/** The end of a turn: fences and releases in one statement, and decides both on the locked row. */
function fenceAndRelease({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  if (isLeftOut(mistake)) {
    const kept = { place: 'settled', flag: false } as const
    return [{ label: `worker ${me} continues without a fence`, next: setWorker(state, me, kept) }]
  }
  if (isLockedFor(state, me)) return []
  if (!isOurs(state, me, mistake === 'fence without the owner'))
    return [{ label: `worker ${me} ends its turn: fenced off, rolls back`, next: leave(state, me, 0) }]
  const { flag: isLast, lastSeq } = state.workers[me - 1]!
  const released = isLast && state.database.lastSeq === lastSeq
  return [
    {
      label: `worker ${me} ends its turn and ${released ? 'releases' : 'keeps'} the actor`,
      next: setWorker({ ...state, exclusive: me }, me, { place: 'settled', flag: released }),
    },
  ]
}

/** A crash of the server may undo the previous turn and keep the claim. */
function isHead(mistake: Mistake | undefined, { database, workers }: State, me: number): boolean {
  const { head } = workers[me - 1]!
  const isThere = (database.present & bit(head)) !== 0
  if (
    mistake === 'removed without being the head' ||
    mistake === 'head skips messages that wait for their retry'
  )
    return isThere
  return isThere && lowest(database.present) === head
}

function notTheHead(state: State, me: number): Step<State> {
  return {
    label: `worker ${me} finds its message gone, or an earlier one back: rolls back`,
    next: leave(state, me, 0),
  }
}

function commitStep({ mistake }: ProtocolOptions, state: State, me: number): Step<State> {
  const { head } = state.workers[me - 1]!
  // This mistake shows what happens to messages; the other mistake without a fence shows that two owners commit.
  const onlyMessages = mistake === 'no fence, and the removed rows are not counted'
  const broken = onlyMessages
    ? undefined
    : (ownership(state, me) ?? messageRule(state.database.applied, head))
  return {
    label: `worker ${me} commits a step of its turn`,
    next: setWorker(unlock(state, me), me, { place: 'working' }),
    ...(broken === undefined ? {} : { broken }),
  }
}

function remove({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const { head } = state.workers[me - 1]!
  if (state.deleting !== 0) return [] // waits for the other transaction
  const isCounted = mistake !== 'no fence, and the removed rows are not counted'
  if (isCounted && !isHead(mistake, state, me)) return [notTheHead(state, me)]
  return [
    {
      label: `worker ${me} removes message ${head}`,
      next: setWorker({ ...state, deleting: me }, me, { place: 'committing' }),
    },
  ]
}

function commitTurn({ mistake }: ProtocolOptions, state: State, me: number): Step<State> {
  const { head, flag: released, lastSeq } = state.workers[me - 1]!
  const onlyMessages = mistake === 'no fence, and the removed rows are not counted'
  const broken =
    messageRule(state.database.applied, head) ?? (onlyMessages ? undefined : ownership(state, me))
  return {
    label: `worker ${me} commits its turn of message ${head}`,
    next: setWorker(
      applyTurn(state, me, head, released),
      me,
      released ? { place: 'leaving', lastSeq } : { place: 'held' },
    ),
    ...(broken === undefined ? {} : { broken }),
  }
}

function haunt(state: State, me: number): State {
  const { head, flag: released } = state.workers[me - 1]!
  const { exclusive, shared, deleting } = state
  const left = leave({ ...state, ghost: { head, released } }, me, 0)
  return {
    ...left,
    exclusive: exclusive === me ? GHOST : left.exclusive,
    shared: (shared >> (me - 1)) & 1 ? left.shared | (1 << (GHOST - 1)) : left.shared,
    deleting: deleting === me ? GHOST : left.deleting,
  }
}

/** The statement takes its snapshot, and then may wait for the row. */
function beginRelease(state: State, me: number): Step<State> {
  const sawNone = (state.database.present & ~state.database.waiting) === 0
  return {
    label: `worker ${me} begins to release`,
    next: setWorker(state, me, { place: 'release waits', flag: sawNone }),
  }
}

function release({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  if (isLockedFor(state, me)) return []
  const { lastSeq, flag: sawNone } = state.workers[me - 1]!
  const isEmpty =
    mistake === 'release if no message exists'
      ? sawNone
      : mistake === 'release without a check' || state.database.lastSeq === lastSeq
  if (!isOurs(state, me) || !isEmpty)
    return [
      {
        label: `worker ${me} does not release: reads the mailbox again`,
        next: setWorker(state, me, { place: 'held', flag: false }),
      },
    ]
  return [
    {
      label: `worker ${me} releases`,
      next: setWorker(setDatabase(state, { owner: 0 }), me, { place: 'leaving' }),
    },
  ]
}

function recordFailure(state: State, me: number): readonly Step<State>[] {
  if (isLockedFor(state, me)) return []
  if (!isOurs(state, me))
    return [{ label: `worker ${me} records its failure: fenced off`, next: leave(state, me, 0) }]
  const { head } = state.workers[me - 1]!
  const failed = setDatabase(state, { waiting: state.database.waiting | bit(head), owner: 0 })
  return [{ label: `worker ${me} records the failure of message ${head}`, next: leave(failed, me, 0) }]
}
