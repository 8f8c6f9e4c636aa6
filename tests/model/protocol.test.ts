/**
 * Explores the protocol of `src/actors/README.md` exhaustively: every interleaving of the statements of three workers
 * (in long turns with faults: of two; a thorough check has three) and their senders, with every fault at every moment. The model must
 * also find each known mistake; otherwise it proves nothing.
 */
import { describe, expect, test } from 'bun:test'
import { rounds } from '../support/rounds.ts'
import { explore, STUCK } from './explorer.ts'
import { protocol } from './protocol.ts'
import { type Mistake, type ProtocolOptions, RULES } from './state.ts'

/** On an idle machine each test takes seconds. */
const TIMEOUT_MS = 60_000

/** Notifiers alone, without the repairs of a sweep. */
const NOTIFIERS: ProtocolOptions = {
  workers: 3,
  messages: 3,
  faults: 0,
  long: false,
  sweeps: false,
  notifiers: true,
}
/** Sweeps alone, and two faults in any combination. */
const SWEEPS: ProtocolOptions = { ...NOTIFIERS, messages: 2, faults: 2, sweeps: true, notifiers: false }
const EVERYTHING: ProtocolOptions = { ...SWEEPS, faults: 1, notifiers: true }
/** Workers commit without waiting for the disk, and the server may crash. */
const CRASHES: ProtocolOptions = { ...SWEEPS, workers: 2, faults: 1, serverCrashes: true }
/** Where a mistake shows with little, it is looked for with little: what a part reaches, the whole reaches too. */
const TWO: ProtocolOptions = { ...SWEEPS, workers: 2, faults: 1 }
const LONG = { long: true } as const
/** Of the longest runs. Three workers have eight times as many states as two. */
const WORKERS = rounds(2, 3)

const REAL: readonly (readonly [string, ProtocolOptions])[] = [
  ['short turns, without faults, no wake-up is lost even without sweeps', NOTIFIERS],
  ['long turns, without faults, no wake-up is lost even without sweeps', { ...NOTIFIERS, ...LONG }],
  ['short turns, sweeps and two faults', SWEEPS],
  ['long turns, sweeps and two faults', { ...SWEEPS, ...LONG, workers: WORKERS }],
  ['short turns, notifiers, sweeps and a fault', { ...EVERYTHING, workers: WORKERS }],
  ['long turns, notifiers, sweeps and a fault', { ...EVERYTHING, ...LONG, workers: WORKERS }],
  ['short turns, a crash of the server that undoes commits', CRASHES],
  ['long turns, a crash of the server that undoes commits', { ...CRASHES, ...LONG }],
]

const MISTAKES: readonly (readonly [Mistake, ProtocolOptions, string])[] = [
  ['no fence', { ...SWEEPS, ...LONG }, RULES.twoOwners],
  ['no fence, and the removed rows are not counted', { ...TWO, ...LONG }, RULES.twice],
  ['fence for key share', { ...SWEEPS, ...LONG }, RULES.twoOwners],
  ['fence without the owner', CRASHES, RULES.twoOwners],
  ['fence without the owner', { ...CRASHES, ...LONG }, RULES.twoOwners],
  ['removed without being the head', CRASHES, RULES.order],
  ['removed without being the head', { ...CRASHES, ...LONG }, RULES.order],
  ['claim reads last_seq from the locked row', NOTIFIERS, STUCK],
  ['claim trusts its read of an owned actor', SWEEPS, RULES.over],
  ['claim trusts its read of an owned actor', { ...SWEEPS, ...LONG }, RULES.over],
  ['release if no message exists', NOTIFIERS, STUCK],
  ['release without a check', NOTIFIERS, STUCK],
  ['head in two statements', NOTIFIERS, STUCK],
  ['head skips messages that wait for their retry', SWEEPS, RULES.order],
  ['wake-ups for an actor in hand are forgotten', NOTIFIERS, STUCK],
  ['sweep overlooks dead owners', TWO, STUCK],
  ['sweep overlooks its own actors', TWO, STUCK],
]

describe('the protocol applies every message once and in order, by one owner at a time', () => {
  for (const [title, options] of REAL) {
    test(
      `${options.workers} workers, ${title}`,
      () => {
        const { states, violation } = explore(protocol(options))
        expect(violation).toBeNull()
        expect(states).toBeGreaterThan(2_000)
      },
      TIMEOUT_MS,
    )
  }
})

describe('a mistake is found', () => {
  for (const [mistake, options, rule] of MISTAKES) {
    test(
      `${mistake}, in ${options.long ? 'long' : 'short'} turns`,
      () => {
        const { violation } = explore(protocol({ ...options, mistake }))
        console.log(`\n${mistake}: ${violation?.rule}\n  ${violation?.trace.join('\n  ')}`)
        expect(violation?.rule).toBe(rule)
      },
      TIMEOUT_MS,
    )
  }
})
