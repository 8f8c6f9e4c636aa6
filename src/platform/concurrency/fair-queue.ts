/** What waits, by caller. Callers take turns, whatever each of them has waiting. */
export interface FairQueue<T> {
  readonly isEmpty: boolean
  add(caller: string, item: T): void
  /**
   * The next item; its caller's next turn comes after those of all others.
   * @param mayHaveOne callers for whom it is false are passed over and keep their turn
   * @returns null where there is none
   */
  take(mayHaveOne?: (caller: string) => boolean): T | null
}

export function createFairQueue<T>(): FairQueue<T> {
  /** In the order of their turns. None is empty. */
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
