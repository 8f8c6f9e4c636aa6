/**
 * A queue of actors in which organizations take turns. Pure.
 *
 * The next actor belongs to the organization that has the fewest in hand. Among equals, it belongs to the one that waited
 * longest since its last turn. Within an organization, actors keep their order of arrival. A lone organization gets everything.
 */
import type { ActorKey } from './types.ts'

export interface Queued {
  readonly key: ActorKey
  readonly organization: string
}

/** How many actors of an organization are in hand. */
export type InHand = (organization: string) => number

/** Holds each actor once. */
export class LeastLoadedQueue {
  /** Organizations with waiting actors; the one that was served last is at the end. */
  readonly #waiting = new Map<string, Set<ActorKey>>()
  readonly #organizations = new Map<ActorKey, string>()

  /** Waiting actors of all organizations. */
  get size(): number {
    return this.#organizations.size
  }

  /** True while the actor waits. */
  has(key: ActorKey): boolean {
    return this.#organizations.has(key)
  }

  /** In the order of arrival. */
  keys(): readonly ActorKey[] {
    return [...this.#organizations.keys()]
  }

  /** The number of waiting actors of one organization. */
  sizeOf(organization: string): number {
    return this.#waiting.get(organization)?.size ?? 0
  }

  /** Changes nothing if the actor waits already. */
  add(key: ActorKey, organization: string): void {
    if (this.has(key)) return
    this.#organizations.set(key, organization)
    const waiting = this.#waiting.get(organization)
    if (waiting === undefined) this.#waiting.set(organization, new Set([key]))
    else waiting.add(key)
  }

  /**
   * Takes up to `count` actors, each from the organization that has the fewest at that moment, if that is fewer than `most`.
   * @param isApart for such an organization, the actors are either all of it, or none
   */
  take(
    count: number,
    inHand: InHand,
    most = Number.POSITIVE_INFINITY,
    isApart: (organization: string) => boolean = () => false,
  ): readonly Queued[] {
    const taken: Queued[] = []
    const shares = new Map<string, number>()
    const shareOf = (organization: string) => shares.get(organization) ?? inHand(organization)
    while (taken.length < count) {
      const first = taken[0]?.organization
      const fits = (other: string) =>
        first === undefined || other === first || !(isApart(first) || isApart(other))
      const organization = this.#least(shareOf, fits)
      if (organization === null || shareOf(organization) >= most) break
      shares.set(organization, shareOf(organization) + 1)
      taken.push(this.#shift(organization))
    }
    return taken
  }

  /** Takes an actor of an organization that has none in hand. Empty if there is no such organization. */
  takeStranger(inHand: InHand): readonly Queued[] {
    const organization = this.#least(inHand)
    return organization === null || inHand(organization) > 0 ? [] : [this.#shift(organization)]
  }

  /** Forgets every waiting actor. Their messages stay in the database. */
  clear(): void {
    this.#waiting.clear()
    this.#organizations.clear()
  }

  /** The organization with the smallest share; null if no actor waits. */
  #least(shareOf: InHand, fits: (organization: string) => boolean = () => true): string | null {
    let least: string | null = null
    let share = Number.POSITIVE_INFINITY
    for (const organization of this.#waiting.keys()) {
      const own = shareOf(organization)
      if (own >= share || !fits(organization)) continue
      least = organization
      share = own
    }
    return least
  }

  /** Removes and returns the first actor of an organization, and moves the organization to the end. */
  #shift(organization: string): Queued {
    const waiting = this.#waiting.get(organization) ?? new Set()
    const [key] = waiting
    if (key === undefined) throw new Error('nothing waits for this organization')
    waiting.delete(key)
    this.#organizations.delete(key)
    this.#waiting.delete(organization)
    if (waiting.size > 0) this.#waiting.set(organization, waiting)
    return { key, organization }
  }
}
