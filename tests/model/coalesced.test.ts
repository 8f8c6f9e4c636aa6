/**
 * Guarded writes, what they remember, and messages that are left out because one is waiting. Explores every interleaving of requests and
 * turns, statement by statement, with PostgreSQL's snapshots. Only the next event would repair a message that is wrongly left out,
 * and it may never come.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { rounds } from '../support/rounds.ts'
import { coalesced } from './coalesced.ts'
import { type CoalescedMistake, type CoalescedOptions, RULES, type SenderOptions } from './coalesced-state.ts'
import { explore, STUCK } from './explorer.ts'

// A busy machine needs longer.
setDefaultTimeout(300_000)

const guarded = (process: number): SenderOptions => ({ way: 'guarded', process })
const locked = (process: number): SenderOptions => ({ way: 'locked', process })

const GUARDED: CoalescedOptions = {
  senders: [guarded(0), guarded(1), guarded(2)],
  workers: 1,
  faults: 1,
  turns: 'short',
}
const IN_TURN: CoalescedOptions = { ...GUARDED, senders: [guarded(0), guarded(1), guarded(0)] }
const REMEMBERED: CoalescedOptions = { ...IN_TURN, senders: [...IN_TURN.senders, guarded(0)], faults: 0 }
const LOCKED_BESIDE: CoalescedOptions = { ...GUARDED, senders: [guarded(0), locked(1), guarded(0)] }
const MIXED: CoalescedOptions = { ...GUARDED, senders: [locked(1), guarded(0)], workers: 2, faults: 2 }
const CRASHES: CoalescedOptions = { ...LOCKED_BESIDE, serverCrashes: true }
const PAUSES: CoalescedOptions = { ...LOCKED_BESIDE, pauses: true }
const LONG: CoalescedOptions = {
  ...MIXED,
  senders: [locked(0), locked(1), locked(2)],
  faults: 1,
  turns: 'long',
}

/** Where a mistake shows with little, it is looked for with little: what a part reaches, the whole reaches too. */
const SMALL: CoalescedOptions = { ...GUARDED, senders: [guarded(0), guarded(1)] }
const SMALL_CRASHES: CoalescedOptions = { ...SMALL, serverCrashes: true }

const REAL: readonly (readonly [string, CoalescedOptions])[] = [
  // With a lost turn it has as many states as all others together, and a process less shows that, too.
  ['guarded writes of three processes', { ...GUARDED, faults: rounds(0, 1) }],
  ['a process that remembers, and another that writes in between', REMEMBERED],
  ['a process that remembers and may lose its memory, a connection or a turn', IN_TURN],
  ['a process that remembers, and invalidates nothing', { ...IN_TURN, neverInvalidates: true }],
  ['a process that remembers, and a transaction beside it', LOCKED_BESIDE],
  ['guarded writes beside transactions, two workers and two faults', MIXED],
  ['a crash of the server that takes turns back', CRASHES],
  ['messages that wait for company after a turn', PAUSES],
  ['long turns, which read without a lock and look again under it', LONG],
]

const MISTAKES: readonly (readonly [CoalescedMistake, CoalescedOptions, string])[] = [
  ['the sender looks for a message before it locks the row', SMALL, STUCK],
  ['the version is not compared', GUARDED, RULES.stale],
  ['nothing is compared again under the lock', GUARDED, RULES.stale],
  ['only the version is compared again under the lock', SMALL, STUCK],
  ['the watermark is not compared', SMALL, STUCK],
  ['the locked way does not change the version', LOCKED_BESIDE, RULES.stale],
  ['the version is the clock alone, which may stand still', REMEMBERED, RULES.stale],
  ['a wrong memory is trusted again', REMEMBERED, STUCK],
  ['a request does not wait for the disk', SMALL_CRASHES, STUCK],
  ['the turn reads before it locks', SMALL, STUCK],
  ['the turn reads in the statement that locks', SMALL, STUCK],
  ['a turn without news does not write the row', SMALL, STUCK],
  ['the message of a session that just had a turn is not sent', PAUSES, STUCK],
  ['the long turn does not check what arrived meanwhile', LONG, STUCK],
]

describe('a write is refused if its decision is stale, and a message is left out only if the turn of the waiting one has not read yet', () => {
  for (const [title, options] of REAL) {
    test(title, () => {
      const { states, violation } = explore(coalesced(options))
      expect(violation).toBeNull()
      expect(states).toBeGreaterThan(10_000)
    })
  }
})

describe('a mistake is found', () => {
  for (const [mistake, options, rule] of MISTAKES) {
    test(mistake, () => {
      const { violation } = explore(coalesced({ ...options, mistake }))
      console.log(`\n${mistake}: ${violation?.rule}\n  ${violation?.trace.join('\n  ')}`)
      expect(violation?.rule).toBe(rule)
    })
  }
})
