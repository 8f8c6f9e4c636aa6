/**
 * Letters that are left out because one is waiting: every interleaving of requests and turns, statement by statement, with
 * PostgreSQL's snapshots. A wake-up that is lost this way would be made good by the next event only, which may never come.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { coalesced } from './coalesced.ts'
import { type CoalescedMistake, type CoalescedOptions, RULES } from './coalesced-state.ts'
import { explore, STUCK } from './explorer.ts'

// A busy machine takes its time.
setDefaultTimeout(120_000)

const GUARDED: CoalescedOptions = {
  senders: ['guarded', 'guarded', 'guarded'],
  workers: 1,
  faults: 1,
  turns: 'short',
}
const MIXED: CoalescedOptions = { ...GUARDED, senders: ['guarded', 'locked'], workers: 2, faults: 2 }
const CRASHES: CoalescedOptions = {
  ...MIXED,
  senders: ['guarded', 'guarded', 'locked'],
  workers: 1,
  faults: 1,
  serverCrashes: true,
}
const LONG: CoalescedOptions = { ...MIXED, senders: ['locked', 'locked', 'locked'], faults: 1, turns: 'long' }

const REAL: readonly (readonly [string, CoalescedOptions])[] = [
  ['guarded writes of one session and a turn that is lost', GUARDED],
  ['guarded writes beside transactions, two workers and two faults', MIXED],
  ['a crash of the server that takes turns back', CRASHES],
  ['long turns, which read without a lock and look again under it', LONG],
]

const MISTAKES: readonly (readonly [CoalescedMistake, CoalescedOptions, string])[] = [
  ['the letter is looked for before the row is locked', MIXED, STUCK],
  ['the version is not compared', GUARDED, STUCK],
  ['the version is compared in the snapshot only', GUARDED, STUCK],
  ['the version is the number of the transaction alone', CRASHES, RULES.stale],
  ['the turn reads before it locks', MIXED, STUCK],
  ['the turn reads in the statement that locks', MIXED, STUCK],
  ['a turn without news leaves the row as it was', MIXED, STUCK],
  ['the long turn does not look at what came in meanwhile', LONG, STUCK],
]

describe('a letter that is left out is one whose turn has not read yet', () => {
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
