/**
 * How a worker gets an actor and reads its mailbox: sweep, claim, takeover and mailbox read, one statement each, or
 * claim and mailbox read in one (`claimAndRead`).
 */
import type { Step } from './explorer.ts'
import {
  bit,
  isLockedFor,
  isOurs,
  leave,
  lowest,
  type ProtocolOptions,
  RULES,
  type State,
  setDatabase,
  setWorker,
} from './state.ts'

export function sweep({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const { owner, present, waiting } = state.database
  const head = lowest(present)
  if (head === 0 || (waiting & bit(head)) !== 0) return []
  const isMine = owner === me && mistake !== 'sweep overlooks its own actors'
  const isDead =
    owner !== 0 &&
    owner !== me &&
    !state.workers[owner - 1]!.lease &&
    mistake !== 'sweep overlooks dead owners'
  if (owner !== 0 && !isMine && !isDead) return []
  return [
    {
      label: `the sweep of worker ${me} finds message ${head}`,
      next: setWorker(state, me, { place: 'called', flag: isDead }),
    },
  ]
}

/** Claims or takes over; another statement reads the mailbox. */
export function claim(state: State, me: number): Step<State> {
  const { owner, epoch } = state.database
  const { flag: fromDead } = state.workers[me - 1]!
  const isFree = fromDead
    ? owner !== 0 && owner !== me && !state.workers[owner - 1]!.lease
    : owner === 0 || owner === me
  if (isLockedFor(state, me) || !isFree)
    return { label: `worker ${me} claims: not free`, next: leave(state, me, 0) }
  const next = epoch + 1
  return {
    label: `worker ${me} ${fromDead ? `takes over from worker ${owner}` : 'claims'}: epoch ${next}`,
    next: setWorker(setDatabase(state, { owner: me, epoch: next }), me, {
      place: 'held',
      epoch: next,
      flag: false,
    }),
  }
}

/** Marks a mailbox read of an actor that had an owner. It matches no epoch. */
const NOT_TRUSTED = -1

/** Claim and mailbox read in one statement: it takes its snapshot and reads the mailbox with it. */
export function beginClaim({ mistake }: ProtocolOptions, state: State, me: number): readonly Step<State>[] {
  const { owner, epoch, lastSeq } = state.database
  if (owner !== 0 && owner !== me)
    return [{ label: `worker ${me} claims: not free`, next: leave(state, me, 0) }]
  const { head, isLast } = dueHead(state)
  const isTrusted = owner === 0 || mistake === 'claim trusts its read of an owned actor'
  const seen = { epoch: isTrusted ? epoch : NOT_TRUSTED, lastSeq, head, flag: isLast }
  return [
    {
      label: `worker ${me} begins to claim: sees message ${head} and last_seq ${lastSeq}`,
      next: setWorker(state, me, { place: 'claiming', ...seen }),
    },
  ]
}

/** Then it locks the current row. It discards what it read if another worker had the actor then or in between. */
export function claimAndRead({ mistake }: ProtocolOptions, state: State, me: number): Step<State> {
  const { owner, epoch, lastSeq } = state.database
  const seen = state.workers[me - 1]!
  if (isLockedFor(state, me) || (owner !== 0 && owner !== me))
    return { label: `worker ${me} claims: not free`, next: leave(state, me, 0) }
  const next = epoch + 1
  const claimed = setDatabase(state, { owner: me, epoch: next })
  if (seen.epoch !== epoch)
    return {
      label: `worker ${me} claims: epoch ${next}, has to read the mailbox again`,
      next: setWorker(claimed, me, { place: 'held', epoch: next, lastSeq: 0, head: 0, flag: false }),
    }
  return {
    label: `worker ${me} claims: epoch ${next}`,
    next: setWorker(claimed, me, {
      place: seen.head === 0 ? 'releasing' : 'turn',
      epoch: next,
      lastSeq: mistake === 'claim reads last_seq from the locked row' ? lastSeq : seen.lastSeq,
    }),
    ...(seen.head !== 0 && (state.database.present & bit(seen.head)) === 0 ? { broken: RULES.over } : {}),
  }
}

/** The head, or 0 if none is due. */
function dueHead({ database }: State, skipsWaiting = false) {
  const { present, waiting } = database
  const head = lowest(skipsWaiting ? present & ~waiting : present)
  if (head === 0 || (waiting & bit(head)) !== 0) return { head: 0, isLast: false }
  return { head, isLast: (present & ~bit(head)) === 0 }
}

export function readHead({ mistake }: ProtocolOptions, state: State, me: number): Step<State> {
  const worker = state.workers[me - 1]!
  const { lastSeq } = state.database
  if (worker.place === 'half read')
    return {
      label: `worker ${me} reads last_seq: ${lastSeq}`,
      next: setWorker(state, me, { place: 'releasing', lastSeq }),
    }
  if (!isOurs(state, me))
    return { label: `worker ${me} reads the head: no longer its own`, next: leave(state, me, 0) }
  const { head, isLast } = dueHead(state, mistake === 'head skips messages that wait for their retry')
  if (head === 0) {
    const place = mistake === 'head in two statements' ? 'half read' : 'releasing'
    return {
      label: `worker ${me} reads the head: nothing is due`,
      next: setWorker(state, me, { place, lastSeq }),
    }
  }
  return {
    label: `worker ${me} reads the head: message ${head}`,
    next: setWorker(state, me, { place: 'turn', lastSeq, head, flag: isLast }),
  }
}
