/** Computations in small steps: generators that yield after each step. `inSlices` lets other work of the thread go on between them. */

/** What the computation comes to, without a pause. */
export function atOnce<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** The items, with a step after every `count`. */
export function* steppedThrough<T>(
  items: readonly T[],
  count: number,
  visit: (item: T, index: number) => void,
): Generator<void, void> {
  for (let n = 0; n < items.length; n++) {
    visit(items[n] as T, n)
    if (n % count === count - 1) yield
  }
}

/** Like `map`, with steps within and after each item. */
export function* eachInSteps<T, R>(
  items: readonly T[],
  map: (item: T, index: number) => Generator<void, R>,
): Generator<void, readonly R[]> {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    results.push(yield* map(item, index))
    yield
  }
  return results
}
