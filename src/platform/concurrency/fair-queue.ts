/** A queue in which callers take turns, however many items each of them has. */
export interface FairQueue<T> {
  readonly isEmpty: boolean
  add(caller: string, item: T): void
  /**
   * Removes the next item. Its caller then goes to the end of the line.
   * @param mayHaveOne callers for whom it returns false are skipped and keep their turn
   * @returns null if there is no item
   */
  take(mayHaveOne?: (caller: string) => boolean): T | null
}

export function createFairQueue<T>(): FairQueue<T> {
  /** The callers in the order of their turns. No queue is empty. */
  const queues = new Map<string, T[]>()
  return {
    get isEmpty() {
      return queues.size === 0
    },
    add(caller, item) {
      const queue = queues.get(caller)
      if (queue === undefined) queues.set(caller, [item])
      else queue.push(item)
    },
    take(mayHaveOne = () => true) {
      for (const [caller, queue] of queues) {
        if (!mayHaveOne(caller)) continue
        const item = queue.shift() as T
        queues.delete(caller)
        if (queue.length > 0) queues.set(caller, queue)
        return item
      }
      return null
    },
  }
}
