/**
 * Explores turns that actors share: every interleaving of two workers, two actors and their messages, with faults at every moment. The
 * model must also find each known mistake; otherwise it proves nothing.
 */
import { describe, expect, test } from 'bun:test'
import { explore } from './explorer.ts'
import { type GroupMistake, type GroupOptions, groupTurns } from './group.ts'
import { RULES } from './state.ts'

/** On an idle machine each test takes seconds. */
const TIMEOUT_MS = 60_000

const OPTIONS: GroupOptions = { messages: [2, 1], faults: 2 }

const MISTAKES: readonly (readonly [GroupMistake, string])[] = [
  ['only the first actor is fenced', RULES.twoOwners],
  ['one actor of its own is enough', RULES.twoOwners],
]

test(
  'shared turns apply every message once and in order, by one owner at a time',
  () => {
    const { states, violation } = explore(groupTurns(OPTIONS))
    expect(violation).toBeNull()
    expect(states).toBeGreaterThan(2_000)
  },
  TIMEOUT_MS,
)

describe('a mistake is found', () => {
  for (const [mistake, rule] of MISTAKES) {
    test(
      mistake,
      () => {
        const { violation } = explore(groupTurns({ ...OPTIONS, mistake }))
        console.log(`\n${mistake}: ${violation?.rule}\n  ${violation?.trace.join('\n  ')}`)
        expect(violation?.rule).toBe(rule)
      },
      TIMEOUT_MS,
    )
  }
})
