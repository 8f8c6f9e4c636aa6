/** A message is left out only beside one whose turn sees what the sender writes. Explores every interleaving, without locks of the domain. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { explore, STUCK } from './explorer.ts'
import { type WaitingMistake, type WaitingOptions, waiting } from './waiting.ts'

// A busy machine needs longer.
setDefaultTimeout(300_000)

const ONE: WaitingOptions = { senders: 3, workers: 1, faults: 1 }
const TWO: WaitingOptions = { senders: 3, workers: 2, faults: 2 }

for (const [title, options] of [
  ['three senders beside a worker that is lost once', ONE],
  ['three senders beside two workers that are lost', TWO],
] as const) {
  test(`${title}: a turn reads what every sender wrote`, () => {
    const { states, violation } = explore(waiting(options))
    expect(violation).toBeNull()
    expect(states).toBeGreaterThan(1_000)
  })
}

const MISTAKES: readonly WaitingMistake[] = [
  'the message of a turn that has begun counts as waiting',
  'the lock of the mailbox ends before the transaction',
  'begun_seq is compared as in the snapshot',
  'an actor that is kept is read without raising begun_seq',
  'the read goes beyond begun_seq',
]

describe('a mistake is found', () => {
  for (const mistake of MISTAKES)
    test(mistake, () => {
      const { violation } = explore(waiting({ ...ONE, mistake }))
      console.log(`\n${mistake}: ${violation?.rule}\n  ${violation?.trace.join('\n  ')}`)
      expect(violation?.rule).toBe(STUCK)
    })
})
