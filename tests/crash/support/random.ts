/** Repeatable random choices: the same seed yields the same choices. */
import { createRandom as createNumbers } from '../../../src/platform/random.ts'

export interface Random {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** A whole number from 0 to `below` - 1. */
  integer(below: number): number
  pick<T>(choices: readonly T[]): T
}

export function createRandom(seed: number): Random {
  const next = createNumbers(seed)
  return {
    next,
    integer: (below) => Math.floor(next() * below),
    pick: (choices) => choices[Math.floor(next() * choices.length)]!,
  }
}
