/**
 * A queue of actors in which organizations take turns. Pure.
 *
 * The rule: the next actor is one of the organization that has the fewest in hand; among equals, of the one whose turn is
 * longest ago. Within an organization the order is that of arrival. An organization alone has everything.
 */
import type { ActorKey } from './types.ts'

export interface Queued {
  readonly key: ActorKey
  readonly organization: string
}

/** How many actors of an organization are in hand. */
export type InHand = (organization: string) => number

export class FairQueue {
  /** Those without a waiting actor are not in it; the one that was served last is at the end. */
  readonly #waiting = new Map<string, Set<ActorKey>>()
  readonly #organizations = new Map<ActorKey, string>()

  get size(): number {
    return this.#organizations.size
  }

  has(key: ActorKey): boolean {
    return this.#organizations.has(key)
  }

  keys(): readonly ActorKey[] {
    return [...this.#organizations.keys()]
  }

  /** Actors of one organization that wait here. */
  sizeOf(organization: string): number {
    return this.#waiting.get(organization)?.size ?? 0
  }

  add(key: ActorKey, organization: string): void {
    if (this.has(key)) return
    this.#organizations.set(key, organization)
    const waiting = this.#waiting.get(organization)
    if (waiting === undefined) this.#waiting.set(organization, new Set([key]))
    else waiting.add(key)
  }

  /** Takes up to `count` actors, each from the organization that has the fewest then. */
  take(count: number, inHand: InHand): readonly Queued[] {
    const taken: Queued[] = []
    const shares = new Map<string, number>()
    const shareOf = (organization: string) => shares.get(organization) ?? inHand(organization)
    while (taken.length < count) {
      const organization = this.#least(shareOf)
      if (organization === null) break
      shares.set(organization, shareOf(organization) + 1)
      taken.push(this.#shift(organization))
    }
    return taken
  }

  /** Takes an actor of an organization that has none in hand; none where there is no such organization. */
  takeStranger(inHand: InHand): readonly Queued[] {
    const organization = this.#least(inHand)
    return organization === null || inHand(organization) > 0 ? [] : [this.#shift(organization)]
  }

  clear(): void {
    this.#waiting.clear()
    this.#organizations.clear()
  }

  /** The organization with the smallest share; null where nothing waits. */
  #least(shareOf: InHand): string | null {
    let least: string | null = null
    let share = Number.POSITIVE_INFINITY
    for (const organization of this.#waiting.keys()) {
      const own = shareOf(organization)
      if (own >= share) continue
      least = organization
      share = own
    }
    return least
  }

  /** The first actor of an organization that has one. The organization goes to the end. */
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
