/**
 * The protocol of `src/actors/README.md`, explored exhaustively: every interleaving of the statements of three workers
 * and their senders, with every fault at every moment. And each known mistake is found, or the model would prove nothing.
 */
import { describe, expect, test } from 'bun:test'
import { explore, STUCK } from './explorer.ts'
import { protocol } from './protocol.ts'
import { type Mistake, type ProtocolOptions, RULES } from './state.ts'

/** Seconds where nothing else runs on the machine. */
const TIMEOUT_MS = 60_000

/** Notifiers alone: what a sweep would repair is not repaired. */
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
/** Workers commit without waiting for the disk, and the server crashes. */
const CRASHES: ProtocolOptions = { ...SWEEPS, workers: 2, faults: 1, serverCrashes: true }
const LONG = { long: true } as const

const REAL: readonly (readonly [string, ProtocolOptions])[] = [
  ['without faults, no wake-up is lost although nobody sweeps', NOTIFIERS],
  ['three workers, sweeps and two faults', SWEEPS],
  ['three workers, notifiers, sweeps and a fault', EVERYTHING],
  ['two workers and a crash of the server that takes commits back', CRASHES],
]

const MISTAKES: readonly (readonly [Mistake, ProtocolOptions, string])[] = [
  ['no fence', { ...SWEEPS, ...LONG }, RULES.twoOwners],
  ['no fence, and the removed rows are not counted', { ...SWEEPS, ...LONG }, RULES.twice],
  ['fence for key share', { ...SWEEPS, ...LONG }, RULES.twoOwners],
  ['fence without the owner', CRASHES, RULES.twoOwners],
  ['fence without the owner', { ...CRASHES, ...LONG }, RULES.twoOwners],
  ['removed without being the head', CRASHES, RULES.order],
  ['removed without being the head', { ...CRASHES, ...LONG }, RULES.order],
  ['claim reads last_seq from the locked row', NOTIFIERS, STUCK],
  ['claim trusts its look at what is in hands', SWEEPS, RULES.over],
  ['claim trusts its look at what is in hands', { ...SWEEPS, ...LONG }, RULES.over],
  ['release where no message exists', NOTIFIERS, STUCK],
  ['release without looking', NOTIFIERS, STUCK],
  ['head in two statements', NOTIFIERS, STUCK],
  ['head skips what waits for its retry', SWEEPS, RULES.order],
  ['notifiers in hand are forgotten', NOTIFIERS, STUCK],
  ['sweep overlooks dead owners', SWEEPS, STUCK],
  ['sweep overlooks its own actors', { ...SWEEPS, faults: 1 }, STUCK],
]

describe('the protocol applies every message once and in order, by one owner at a time', () => {
  for (const [title, options] of REAL) {
    for (const turns of ['short', 'long']) {
      test(
        `${turns} turns, ${title}`,
        () => {
          const { states, violation } = explore(protocol({ ...options, long: turns === 'long' }))
          expect(violation).toBeNull()
          expect(states).toBeGreaterThan(2_000)
        },
        TIMEOUT_MS,
      )
    }
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
