/**
 * A lane of one worker: a queue of actors, a number of places, and the actors in hand.
 *
 * A free place goes to the organization that has the fewest. Long turns may take hours and are not interrupted, so their lanes
 * also have a guest place: if one organization has all places, another one can still begin at once.
 *
 * Short turns that share an activation share a transaction, which keeps the rows of all until its end. So after a slow activation its
 * organizations share none with others for a while: the rows of one organization are not locked while large turns of another run.
 */
import type { Handover } from './context.ts'
import { LeastLoadedQueue, type Queued } from './least-loaded-queue.ts'
import type { ActorKey, Pool } from './types.ts'

/** A full lane lets at least this many actors wait: of one organization, and of all. A narrow lane would let fewer wait. */
const [MIN_SHARE, MIN_WAITING] = [8, 32]

/** An activation of short turns is slow if it takes longer than the sum: once, and for each actor. */
const [SLOW_MS, SLOW_ACTOR_MS] = [100, 10]
/** How long its organizations share no activation, unless one of their own was fast. */
const APART_MS = 10_000

export interface LaneShape {
  readonly pool: Pool
  /** How many activations run at the same time. */
  readonly places: number
  /** Additional activations, for organizations that have none. */
  readonly guests: number
  /** The most actors in one activation. */
  readonly width: number
  /** The most actors of one organization in hand. Absent: no limit. */
  readonly most?: number
}

export type Run = (keys: readonly ActorKey[], handover: Handover) => Promise<void>

/** Counts what is queued and in hand. The dispatcher starts the activations. */
export class Lane {
  readonly queue = new LeastLoadedQueue()
  readonly pool: Pool
  readonly width: number
  activations = 0
  #keys = 0
  /** The number of actors in hand, by organization. */
  readonly #shares = new Map<string, number>()
  /** Organizations that share no activation, and until when. */
  readonly #apart = new Map<string, number>()
  readonly #begun = new WeakMap<readonly Queued[], number>()
  /** How many more actors are kept queued beyond the places, so that the next activation finds work. */
  readonly #ahead: number

  constructor(
    private readonly shape: LaneShape,
    readonly run: Run,
    /** Milliseconds of a clock that only goes forward. */
    private readonly now: () => number = () => performance.now(),
  ) {
    this.pool = shape.pool
    this.width = shape.width
    this.#ahead = shape.width > 1 ? shape.width : 0
  }

  /** How many more actors fit. */
  get free(): number {
    const { places, width } = this.shape
    return Math.max(0, places * width + this.#ahead - this.#keys - this.queue.size)
  }

  /** True if only a guest's activation can begin, or if actors that may not begin yet leave no room for others. */
  get isFull(): boolean {
    return this.activations >= this.shape.places || (this.shape.most !== undefined && this.free === 0)
  }

  /** How many actors of one organization may wait here while other organizations wait elsewhere. */
  get share(): number {
    return Math.max(MIN_SHARE, Math.floor(this.width / 2))
  }

  /** How many more actors may wait here although the lane is full, so that organizations can take turns. */
  get waitingRoom(): number {
    return Math.max(0, this.#ahead + Math.max(MIN_WAITING, this.width) - this.queue.size)
  }

  /** The actors of the next activation; empty if none may begin. */
  next(): readonly Queued[] {
    const { places, guests, width, most } = this.shape
    const inHand = (organization: string) => this.#shares.get(organization) ?? 0
    const now = this.now()
    const isApart = (organization: string) => (this.#apart.get(organization) ?? 0) > now
    if (this.activations < places) return this.queue.take(width, inHand, most, isApart)
    return this.activations < places + guests ? this.queue.takeStranger(inHand) : []
  }

  /** Marks the actors as in hand of their organizations; call `end` with the same list. */
  begin(actors: readonly Queued[]): void {
    this.#begun.set(actors, this.now())
    this.activations += 1
    this.#keys += actors.length
    for (const { organization } of actors)
      this.#shares.set(organization, (this.#shares.get(organization) ?? 0) + 1)
  }

  /** Frees the place of the activation and the shares of its organizations. */
  end(actors: readonly Queued[]): void {
    if (this.pool === 'short') this.#judge(actors)
    this.activations -= 1
    this.#keys -= actors.length
    for (const { organization } of actors) {
      const share = (this.#shares.get(organization) ?? 1) - 1
      if (share > 0) this.#shares.set(organization, share)
      else this.#shares.delete(organization)
    }
  }

  /** Remembers whose activation was slow. */
  #judge(actors: readonly Queued[]): void {
    const now = this.now()
    const isSlow = now - (this.#begun.get(actors) ?? now) > SLOW_MS + SLOW_ACTOR_MS * actors.length
    for (const { organization } of actors) {
      if (isSlow) this.#apart.set(organization, now + APART_MS)
      else this.#apart.delete(organization)
    }
  }
}
