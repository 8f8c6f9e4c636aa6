/** Long computations that let other work of the thread go on. */
import { setImmediate as pause } from 'node:timers/promises'

const SLICE_MS = 4

/** Runs a computation that yields after small parts. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  let started = performance.now()
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
    if (performance.now() - started < SLICE_MS) continue
    await pause()
    started = performance.now()
  }
}

/** Like `map`, in small parts. */
export const mapInSlices = <T, R>(
  items: readonly T[],
  map: (item: T, index: number) => R,
): Promise<readonly R[]> => inSlices(mapping(items, map))

function* mapping<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => R,
): Generator<void, readonly R[]> {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    results.push(map(item, index))
    yield
  }
  return results
}
