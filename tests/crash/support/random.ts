/** Repeatable random choices: the same seed yields the same choices. */

export interface Random {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** A whole number from 0 to `below` - 1. */
  integer(below: number): number
  pick<T>(choices: readonly T[]): T
}

/** Mulberry32, a small generator with 32 bits of state. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    integer: (below) => Math.floor(next() * below),
    pick: (choices) => choices[Math.floor(next() * choices.length)]!,
  }
}
