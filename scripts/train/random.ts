/** Random orders for the training. */
import type { Random } from '../../src/platform/random.ts'

/** The numbers below `count` in random order. */
export function shuffled(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  for (let index = count - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    const value = order[index] as number
    order[index] = order[other] as number
    order[other] = value
  }
  return order
}
