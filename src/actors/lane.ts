/**
 * A lane of one worker: a queue of actors, a number of places, and what is in hand.
 *
 * The rule: places go to the organization that has the fewest of them. A lane of long turns has a guest place besides, because its
 * turns may take hours and are not interrupted: where one organization has all places, another one gets in at once all the same.
 */
import type { Handover } from './context.ts'
import { FairQueue, type Queued } from './fair-queue.ts'
import type { ActorKey, Pool } from './types.ts'

/** Of one organization and of all, actors that may wait here although there is no room, however narrow the lane is. */
const [MIN_SHARE, MIN_WAITING] = [8, 32]

export interface LaneShape {
  readonly pool: Pool
  /** Activations at the same time. */
  readonly places: number
  /** More of them, for organizations that have none. */
  readonly guests: number
  /** Actors in one activation. */
  readonly width: number
}

export type Run = (keys: readonly ActorKey[], handover: Handover) => Promise<void>

export class Lane {
  readonly queue = new FairQueue()
  readonly pool: Pool
  readonly width: number
  activations = 0
  #keys = 0
  /** Actors in hand, by organization. */
  readonly #shares = new Map<string, number>()
  /** Actors to hold ready beyond the places, so that an activation finds work when it begins. */
  readonly #ahead: number

  constructor(
    private readonly shape: LaneShape,
    readonly run: Run,
  ) {
    this.pool = shape.pool
    this.width = shape.width
    this.#ahead = shape.width > 1 ? shape.width : 0
  }

  /** How many more actors there is room for. */
  get free(): number {
    const { places, width } = this.shape
    return Math.max(0, places * width + this.#ahead - this.#keys - this.queue.size)
  }

  /** True where no activation can begin but a guest's. */
  get isFull(): boolean {
    return this.activations >= this.shape.places
  }

  /** Actors that one organization may have waiting here while others wait elsewhere. */
  get share(): number {
    return Math.max(MIN_SHARE, Math.floor(this.width / 2))
  }

  /** How many more actors may wait here for a fair turn, although there is no room. */
  get waitingRoom(): number {
    return Math.max(0, this.#ahead + Math.max(MIN_WAITING, this.width) - this.queue.size)
  }

  /** What the next activation is to run; nothing where none may begin. */
  next(): readonly Queued[] {
    const { places, guests, width } = this.shape
    const inHand = (organization: string) => this.#shares.get(organization) ?? 0
    if (this.activations < places) return this.queue.take(width, inHand)
    return this.activations < places + guests ? this.queue.takeStranger(inHand) : []
  }

  begin(actors: readonly Queued[]): void {
    this.activations += 1
    this.#keys += actors.length
    for (const { organization } of actors)
      this.#shares.set(organization, (this.#shares.get(organization) ?? 0) + 1)
  }

  end(actors: readonly Queued[]): void {
    this.activations -= 1
    this.#keys -= actors.length
    for (const { organization } of actors) {
      const share = (this.#shares.get(organization) ?? 1) - 1
      if (share > 0) this.#shares.set(organization, share)
      else this.#shares.delete(organization)
    }
  }
}
