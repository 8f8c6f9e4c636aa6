/**
 * Turns that actors share (`src/actors/group-turn.ts`, `src/actors/activation.ts`) as a model to be explored: two actors, and one
 * transaction for those that a worker has claimed.
 *
 * `protocol.ts` explores a lone actor in finer steps. Here a claim with its mailbox read is one step, and so is a send. The end of a
 * turn takes its row locks one by one, in key order. Lost wake-ups are not modelled: workers find their work by sweeps.
 */
import type { Model, Step } from './explorer.ts'
import { bit, lowest, messageRule, RULES } from './state.ts'

/** The mistakes that the model can make. The runtime makes none of them. */
export type GroupMistake = 'only the first actor is fenced' | 'one actor of its own is enough'

export interface GroupOptions {
  /** How many messages are sent to each actor. */
  readonly messages: readonly [number, number]
  /** How many faults may happen in one run, in any combination. */
  readonly faults: number
  readonly mistake?: GroupMistake
}

/** The committed row and mailbox of an actor. Sets of messages are bit masks: message `n` is bit `n - 1`. */
interface Actor {
  readonly lastSeq: number
  readonly epoch: number
  /** 0: no owner; otherwise the number of the worker. */
  readonly owner: number
  readonly present: number
  readonly applied: number
  /** The worker whose open transaction has locked the row; 0: none. */
  readonly locked: number
}

/** An actor as a worker has claimed and read it. */
interface Held {
  readonly key: number
  readonly epoch: number
  readonly lastSeq: number
  readonly head: number
  readonly isLast: boolean
  /** After the fence: the actor is still ours, and the commit releases it. */
  readonly isOurs: boolean
  readonly released: boolean
}

interface Worker {
  readonly place: 'idle' | 'turn' | 'fencing' | 'committing' | 'leaving' | 'dead'
  readonly lease: boolean
  readonly held: readonly Held[]
  /** In `fencing`: the number of rows that are locked. */
  readonly done: number
}

export interface GroupState {
  readonly actors: readonly Actor[]
  readonly workers: readonly Worker[]
  /** A COMMIT on its way. Its worker has lost the connection, and the transaction still holds its locks. */
  readonly ghost: readonly Held[] | null
  readonly faults: number
}

const WORKERS = [1, 2] as const
/** Holds the locks of the lost transaction. */
const GHOST = 9
const NEW_ACTOR: Actor = { lastSeq: 0, epoch: 0, owner: 0, present: 0, applied: 0, locked: 0 }
const IDLE: Worker = { place: 'idle', lease: true, held: [], done: 0 }

/** Shared turns as a model to be explored. Goal: every message was sent and applied. */
export function groupTurns(options: GroupOptions): Model<GroupState> {
  return {
    initial: {
      actors: options.messages.map(() => NEW_ACTOR),
      workers: WORKERS.map(() => IDLE),
      ghost: null,
      faults: options.faults,
    },
    steps: (state) => [
      ...options.messages.flatMap((count, key) => sends(state, key, count)),
      ...WORKERS.flatMap((me) => workerSteps(options, state, me)),
      ...ghostSteps(state),
    ],
    keyOf,
    isGoal: ({ actors }) =>
      actors.every(({ applied }, key) => applied === (1 << (options.messages[key] ?? 0)) - 1),
  }
}

/** Epochs only rise, so it only matters whether a worker has the newest one. */
function keyOf({ actors, workers, ghost, faults }: GroupState): string {
  const heldUnits = (held: readonly Held[]) =>
    held.map(({ epoch, ...one }) => [epoch === actors[one.key]?.epoch, ...Object.values(one)])
  return JSON.stringify([
    actors.map(({ epoch: _, ...actor }) => Object.values(actor)),
    workers.map(({ held, ...worker }) => [...Object.values(worker), heldUnits(held)]),
    ghost && heldUnits(ghost),
    faults,
  ])
}

function sends(state: GroupState, key: number, count: number): readonly Step<GroupState>[] {
  const { lastSeq, present, locked } = state.actors[key]!
  if (lastSeq === count || locked !== 0) return []
  const seq = lastSeq + 1
  return [
    {
      label: `message ${seq} of actor ${key} is sent`,
      next: setActor(state, key, { lastSeq: seq, present: present | bit(seq) }),
    },
  ]
}

function workerSteps(options: GroupOptions, state: GroupState, me: number): readonly Step<GroupState>[] {
  const { place, lease } = state.workers[me - 1]!
  const outOfLease = {
    label: `the lease of worker ${me} runs out`,
    next: setWorker(state, me, { lease: false }),
  }
  if (place === 'dead') return lease ? [outOfLease] : []
  const beat = { label: `worker ${me} sends a heartbeat`, next: setWorker(state, me, { lease: true }) }
  return [...act(options, state, me), ...(lease ? [] : [beat]), ...faults(state, me)]
}

function act(options: GroupOptions, state: GroupState, me: number): readonly Step<GroupState>[] {
  switch (state.workers[me - 1]!.place) {
    case 'turn':
      return [
        { label: `worker ${me} ends its shared turn`, next: setWorker(state, me, { place: 'fencing' }) },
      ]
    case 'fencing':
      return fence(options, state, me)
    case 'committing':
      return [commit(state, me)]
    case 'leaving':
      return abandon(state, me)
    default:
      return [...claims(state, me), ...takeovers(state, me)]
  }
}

/** Claims any of the free actors together. */
function claims(state: GroupState, me: number): readonly Step<GroupState>[] {
  const free = state.actors.flatMap(({ owner, present, locked }, key) =>
    present !== 0 && locked === 0 && (owner === 0 || owner === me) ? [key] : [],
  )
  const groups = free.length === 2 ? [free, ...free.map((key) => [key])] : free.map((key) => [key])
  return groups.map((keys) => take(state, me, keys, 'claims'))
}

/** A dead worker's actors are taken one at a time. */
function takeovers(state: GroupState, me: number): readonly Step<GroupState>[] {
  return state.actors.flatMap(({ owner, present, locked }, key) =>
    present !== 0 && locked === 0 && owner !== 0 && owner !== me && !state.workers[owner - 1]!.lease
      ? [take(state, me, [key], 'takes over')]
      : [],
  )
}

function take(state: GroupState, me: number, keys: readonly number[], verb: string): Step<GroupState> {
  const held = keys.map((key) => {
    const { epoch, lastSeq, present } = state.actors[key]!
    const head = lowest(present)
    const isLast = present === bit(head)
    return { key, epoch: epoch + 1, lastSeq, head, isLast, isOurs: false, released: false }
  })
  const claimed = held.reduce((one, { key, epoch }) => setActor(one, key, { owner: me, epoch }), state)
  return {
    label: `worker ${me} ${verb} ${keys.join(' and ')}`,
    next: setWorker(claimed, me, { place: 'turn', held, done: 0 }),
  }
}

/** Locks the next row and checks it. If an actor is lost, the whole transaction rolls back. */
function fence({ mistake }: GroupOptions, state: GroupState, me: number): readonly Step<GroupState>[] {
  const { held, done } = state.workers[me - 1]!
  const one = held[done]
  if (one === undefined) {
    const isEnough = held.some(({ isOurs }) => isOurs)
    return isEnough
      ? [{ label: `worker ${me} has passed the fence`, next: setWorker(state, me, { place: 'committing' }) }]
      : [rollBack(state, me)]
  }
  const actor = state.actors[one.key]!
  if (actor.locked !== 0) return []
  const isOurs = actor.owner === me && actor.epoch === one.epoch
  const isForgiven =
    mistake === 'one actor of its own is enough' || (mistake === 'only the first actor is fenced' && done > 0)
  if (!isOurs && !isForgiven) return [rollBack(state, me)]
  const passed = { ...one, isOurs, released: one.isLast && actor.lastSeq === one.lastSeq }
  return [
    {
      label: `worker ${me} locks ${one.key}${isOurs ? '' : ', which is not its own any more'}`,
      next: setWorker(setActor(state, one.key, { locked: me }), me, {
        held: held.with(done, passed),
        done: done + 1,
      }),
    },
  ]
}

function rollBack(state: GroupState, me: number): Step<GroupState> {
  return {
    label: `worker ${me} is fenced off: rolls back`,
    next: setWorker(unlock(state, me), me, { place: 'leaving', done: 0 }),
  }
}

function commit(state: GroupState, me: number): Step<GroupState> {
  const { held } = state.workers[me - 1]!
  const { next, broken } = apply(state, held)
  const kept = held.filter(({ released }) => !released)
  const left = setWorker(unlock(next, me), me, {
    place: kept.length > 0 ? 'leaving' : 'idle',
    held: kept,
    done: 0,
  })
  const label = `worker ${me} commits ${held.map(({ key, head }) => `message ${head} of ${key}`).join(' and ')}`
  return { label, next: left, ...(broken === undefined ? {} : { broken }) }
}

/** The effects of all messages of the turn, as one. */
function apply(state: GroupState, held: readonly Held[]) {
  let next = state
  let broken: string | undefined
  for (const { key, head, isOurs, released } of held) {
    const { applied, present, owner } = next.actors[key]!
    broken ??= messageRule(applied, head) ?? (isOurs ? undefined : RULES.twoOwners)
    next = setActor(next, key, {
      applied: applied | bit(head),
      present: present & ~bit(head),
      owner: released && isOurs ? 0 : owner,
    })
  }
  return { next, broken }
}

/** Gives up the actors that are still ours. Messages that wait for them are found again, and may run alone. */
function abandon(state: GroupState, me: number): readonly Step<GroupState>[] {
  const { held } = state.workers[me - 1]!
  const ours = held.filter(({ key, epoch }) => {
    const actor = state.actors[key]!
    return actor.owner === me && actor.epoch === epoch
  })
  if (ours.some(({ key }) => state.actors[key]!.locked !== 0)) return []
  const released = ours.reduce((one, { key }) => setActor(one, key, { owner: 0 }), state)
  return [
    {
      label: `worker ${me} releases ${ours.map(({ key }) => key).join(' and ') || 'nothing'}`,
      next: setWorker(released, me, { place: 'idle', held: [], done: 0 }),
    },
  ]
}

function faults(state: GroupState, me: number): readonly Step<GroupState>[] {
  const { place, held, lease } = state.workers[me - 1]!
  if (state.faults === 0) return []
  const used = { ...state, faults: state.faults - 1 }
  const gone = { held: [], done: 0 }
  const fault = (label: string, next: GroupState) => ({
    label: `FAULT: worker ${me} ${label}`,
    next,
    isFault: true,
  })
  const others = state.workers.some((worker, index) => index !== me - 1 && worker.place !== 'dead')
  return [
    ...(others ? [fault('is killed', setWorker(unlock(used, me), me, { ...gone, place: 'dead' }))] : []),
    ...(lease ? [fault('is paused past its lease', setWorker(used, me, { lease: false }))] : []),
    ...(place === 'turn' ? [fault('fails or hangs', setWorker(used, me, { place: 'leaving' }))] : []),
    ...(place === 'idle'
      ? []
      : [fault('loses its connection', setWorker(unlock(used, me), me, { ...gone, place: 'idle' }))]),
    ...(place === 'committing' && state.ghost === null
      ? [
          fault(
            'loses its connection with COMMIT on the way',
            setWorker({ ...relock(used, me, GHOST), ghost: held }, me, { ...gone, place: 'idle' }),
          ),
        ]
      : []),
  ]
}

function ghostSteps(state: GroupState): readonly Step<GroupState>[] {
  if (state.ghost === null) return []
  const { next, broken } = apply(state, state.ghost)
  return [
    {
      label: 'the lost COMMIT arrives',
      next: { ...unlock(next, GHOST), ghost: null },
      ...(broken === undefined ? {} : { broken }),
    },
    { label: 'the server rolls back the lost transaction', next: { ...unlock(state, GHOST), ghost: null } },
  ]
}

function setActor(state: GroupState, key: number, change: Partial<Actor>): GroupState {
  return { ...state, actors: state.actors.with(key, { ...state.actors[key]!, ...change }) }
}

function setWorker(state: GroupState, me: number, change: Partial<Worker>): GroupState {
  return { ...state, workers: state.workers.with(me - 1, { ...state.workers[me - 1]!, ...change }) }
}

function unlock(state: GroupState, holder: number): GroupState {
  return relock(state, holder, 0)
}

function relock(state: GroupState, from: number, to: number): GroupState {
  const actors = state.actors.map((actor) => (actor.locked === from ? { ...actor, locked: to } : actor))
  return { ...state, actors }
}
