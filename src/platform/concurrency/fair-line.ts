/**
 * A line in which callers (organizations) take turns, however many items each of them has. Pure.
 *
 * The next item belongs to the caller with the smallest load. Among equals, it belongs to the one that waited longest since its last
 * turn. The items of one caller keep their order. It is the order of `fair-queue.ts`, and of the few places that take several items at
 * once: batches (`group-commit.ts`) and rounds (`request-work.ts`).
 */

/** Where an item stands. */
interface Spot<T> {
  readonly caller: string
  readonly index: number
  readonly item: T
}

/** The index of the caller's item to take; -1 for none. Such a caller is skipped and keeps its turn. */
type Choose<T> = (caller: string, items: readonly T[]) => number

export class FairLine<T> {
  /** Callers in the order of their turns. No list is empty. */
  #lists = new Map<string, T[]>()

  /** @param loadOf what the caller holds at the moment, by default the same for all */
  constructor(private readonly loadOf: (caller: string) => number = () => 0) {}

  get isEmpty(): boolean {
    return this.#lists.size === 0
  }

  add(caller: string, item: T): void {
    const list = this.#lists.get(caller)
    if (list === undefined) this.#lists.set(caller, [item])
    else list.push(item)
  }

  /** Adds an item that comes next. */
  addFirst(caller: string, item: T): void {
    const list = [item, ...(this.#lists.get(caller) ?? [])]
    this.#lists.delete(caller)
    this.#lists = new Map([[caller, list], ...this.#lists])
  }

  /** The next item, which stays in the line. By default the first item of each caller may be taken. */
  next(choose: Choose<T> = () => 0): Spot<T> | null {
    let next: Spot<T> | null = null
    let least = Number.POSITIVE_INFINITY
    for (const [caller, list] of this.#lists) {
      const load = this.loadOf(caller)
      if (load >= least) continue
      const index = choose(caller, list)
      const item = list[index]
      if (item === undefined) continue
      next = { caller, index, item }
      least = load
      if (load === 0) break
    }
    return next
  }

  /** Removes what `next` returned. Its caller goes to the end of the line. */
  remove({ caller, index }: Spot<T>): void {
    const list = this.#lists.get(caller) ?? []
    if (index === 0) list.shift()
    else list.splice(index, 1)
    this.#lists.delete(caller)
    if (list.length > 0) this.#lists.set(caller, list)
  }

  /** Removes and returns the next item. @returns null if there is none */
  take(choose?: Choose<T>): T | null {
    const next = this.next(choose)
    if (next === null) return null
    this.remove(next)
    return next.item
  }
}
