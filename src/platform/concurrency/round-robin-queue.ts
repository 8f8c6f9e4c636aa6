/** A queue in which callers take turns, however many items each of them has. */
export interface RoundRobinQueue<T> {
  readonly isEmpty: boolean
  add(caller: string, item: T): void
  /** Adds an item that comes next. */
  addFirst(caller: string, item: T): void
  /**
   * Removes the next item. Its caller then goes to the end of the line.
   * @param choose returns the index of the caller's item to remove, by default the first. Callers for whom it returns -1 are skipped
   * and keep their turn.
   * @returns null if there is no item
   */
  take(choose?: (caller: string, items: readonly T[]) => number): T | null
}

/** Items of one caller keep their order. */
export function createRoundRobinQueue<T>(): RoundRobinQueue<T> {
  /** The callers in the order of their turns. No queue is empty. */
  let queues = new Map<string, T[]>()
  return {
    get isEmpty() {
      return queues.size === 0
    },
    add(caller, item) {
      const queue = queues.get(caller)
      if (queue === undefined) queues.set(caller, [item])
      else queue.push(item)
    },
    addFirst(caller, item) {
      const items = [item, ...(queues.get(caller) ?? [])]
      queues.delete(caller)
      queues = new Map([[caller, items], ...queues])
    },
    take(choose = () => 0) {
      for (const [caller, queue] of queues) {
        const index = choose(caller, queue)
        if (index < 0) continue
        const item = (index === 0 ? queue.shift() : queue.splice(index, 1)[0]) as T
        queues.delete(caller)
        if (queue.length > 0) queues.set(caller, queue)
        return item
      }
      return null
    },
  }
}
