/**
 * Who runs when: the lanes of one worker.
 *
 * A lane is a queue of actors and a number of places. Lanes are separate so that what is slow or broken holds up only
 * its own kind: turns together, turns alone, actors of dead workers (one at a time: one of them may be what killed
 * its worker, and whoever runs beside it would be counted too), and long turns, with a lane for each of their pools.
 *
 * The rules: an actor is in one place at a time; a doorbell that rings while its actor is in hand is not lost, unless
 * the activation has seen a mailbox at least as new.
 */
import { runAlone, runTogether } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { runLong } from './long-turn.ts'
import {
  ACTOR_POOLS,
  type ActorKey,
  type ActorKind,
  Fenced,
  kindOf,
  type LongPool,
  type Pool,
} from './types.ts'

/** At most so many retries are remembered by this worker; the sweep finds the others. */
const MAX_TIMERS = 10_000

interface Lane {
  readonly pool: Pool
  /** Activations at the same time. */
  readonly places: number
  /** Actors in one activation. */
  readonly width: number
  /** Actors to hold ready beyond the places, so that an activation finds work when it begins. */
  readonly ahead: number
  readonly queue: Set<ActorKey>
  activations: number
  keys: number
  readonly run: (keys: readonly ActorKey[], handover: Handover) => Promise<void>
}

/** An actor in hand: by which activation, and the newest message that a doorbell rang for meanwhile. */
interface InHand {
  readonly activation: object
  rung: number
}

export class Dispatcher {
  readonly #together: Lane
  readonly #alone: Lane
  readonly #dead: Lane
  readonly #long: Readonly<Record<LongPool, Lane>>
  readonly #lanes: readonly Lane[]
  readonly #inHand = new Map<ActorKey, InHand>()
  /** Long actors in the queue that are to be taken from a dead worker. */
  readonly #deadLong = new Set<ActorKey>()
  readonly #timers = new Set<Timer>()
  #changed = Promise.withResolvers<void>()
  #stopped = false

  constructor(private readonly context: Context) {
    const { batchSlots, batchKeys, aloneSlots, longSlots, mediaSlots } = context.options
    this.#together = lane(
      'short',
      batchSlots,
      (keys, handover) => runTogether(context, keys, handover),
      batchKeys,
    )
    this.#alone = lane('short', aloneSlots, ([key], handover) => runAlone(context, key!, false, handover))
    this.#dead = lane('short', 1, ([key], handover) => runAlone(context, key!, true, handover))
    const long: Lane['run'] = ([key], handover) =>
      runLong(context, key!, this.#deadLong.delete(key!), handover)
    this.#long = { long: lane('long', longSlots, long), media: lane('media', mediaSlots, long) }
    this.#lanes = [this.#together, this.#alone, this.#dead, ...Object.values(this.#long)]
  }

  /**
   * A doorbell, or the sweep, says that message `seq` waits for `key`. Kinds that this version has no definition for
   * are left to others. `dead`: its owner is.
   */
  offer(key: ActorKey, seq: number, dead = false): void {
    const kind = kindOf(key)
    if (kind === null || !this.context.definitions.has(kind)) return
    const long = this.#longLane(kind)
    if (long !== null && dead && !this.#inHand.has(key)) this.#deadLong.add(key)
    this.#enqueue(key, seq, long ?? (dead ? this.#dead : this.#together))
  }

  /** How many more actors a pool can take. */
  free(pool: Pool): number {
    const { places, width, ahead, keys, queue } = pool === 'short' ? this.#together : this.#long[pool]
    return this.#stopped ? 0 : Math.max(0, places * width + ahead - keys - queue.size)
  }

  /** True where a pool can take a whole activation more, beyond what it holds already. */
  isHungry(pool: Pool): boolean {
    return this.free(pool) >= (pool === 'short' ? this.#together : this.#long[pool]).width
  }

  /** Resolves when something may have become free, or the worker stops. */
  changed(): Promise<void> {
    return this.#changed.promise
  }

  /** Actors in hand or in a queue. */
  known(): ActorKey[] {
    return [...this.#inHand.keys(), ...this.#lanes.flatMap((one) => [...one.queue])]
  }

  /** Actors in hand. */
  inHand(): ActorKey[] {
    return [...this.#inHand.keys()]
  }

  /** Begins nothing more; resolves when nothing is in hand. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const one of this.#lanes) one.queue.clear()
    this.#wake()
    while (this.#lanes.some((one) => one.activations > 0)) await this.changed()
  }

  /** Null for a kind with short turns. */
  #longLane(kind: ActorKind): Lane | null {
    const pool = ACTOR_POOLS[kind]
    return pool === 'short' ? null : this.#long[pool]
  }

  #enqueue(key: ActorKey, seq: number, to: Lane): void {
    if (this.#stopped) return
    const inHand = this.#inHand.get(key)
    if (inHand !== undefined) {
      inHand.rung = Math.max(inHand.rung, seq)
      return
    }
    if (this.#lanes.some((one) => one.queue.has(key))) return
    to.queue.add(key)
    // Not before the others of the moment are in the queue too: they are to share the activation.
    queueMicrotask(() => this.#pump(to))
  }

  #pump(one: Lane): void {
    while (one.activations < one.places && one.queue.size > 0) {
      const keys = one.queue.values().take(one.width).toArray()
      const activation = {}
      for (const key of keys) {
        one.queue.delete(key)
        this.#inHand.set(key, { activation, rung: 0 })
      }
      void this.#activate(one, keys, activation)
    }
  }

  async #activate(one: Lane, keys: readonly ActorKey[], activation: object): Promise<void> {
    const { activeActors } = this.context.metrics
    one.activations += 1
    one.keys += keys.length
    activeActors.inc({ pool: one.pool }, keys.length)
    try {
      await one.run(keys, {
        leave: (key, seen) => this.#leave(key, seen, activation),
        later: (key, delayMs) => this.#later(key, delayMs),
      })
    } catch (error) {
      // What is still ours in the database is found by the sweep.
      if (!(error instanceof Fenced))
        this.context.log.error({ err: error, keys: keys.length }, 'activation failed')
    } finally {
      activeActors.dec({ pool: one.pool }, keys.length)
      one.activations -= 1
      one.keys -= keys.length
      for (const key of keys) this.#leave(key, 0, activation)
      this.#pump(one)
      this.#wake()
    }
  }

  /** Does nothing where the actor is in other hands by now. */
  #leave(key: ActorKey, seen: number, activation: object): void {
    const inHand = this.#inHand.get(key)
    if (inHand?.activation !== activation) return
    this.#inHand.delete(key)
    if (inHand.rung > seen) this.offer(key, inHand.rung)
  }

  #later(key: ActorKey, delayMs: number): void {
    const kind = kindOf(key)
    const start = () => this.#enqueue(key, 0, (kind && this.#longLane(kind)) ?? this.#alone)
    if (delayMs === 0) {
      start()
    } else if (!this.#stopped && this.#timers.size < MAX_TIMERS) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        start()
      }, delayMs)
      this.#timers.add(timer)
    }
  }

  #wake(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

function lane(pool: Pool, places: number, run: Lane['run'], width = 1): Lane {
  return { pool, places, width, ahead: width > 1 ? width : 0, queue: new Set(), activations: 0, keys: 0, run }
}
