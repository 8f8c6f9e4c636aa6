/**
 * The lanes of one worker decide which actor runs when.
 *
 * A lane is a queue of actors and a number of places. Lanes are separate so that a slow or broken turn holds up only its
 * own kind. There is one lane for turns together, one for turns alone, and one for actors of dead workers. The last one runs one
 * actor at a time, because one of them may have killed its worker. If that happens again, no other turn is blamed with it. Each pool of long turns
 * has a lane. A pool whose actors share long turns has a second lane for these; its first lane then runs turns alone.
 *
 * Within a lane, organizations take turns (`lane.ts`).
 *
 * An actor is in one queue or in one activation at a time. A wake-up that arrives while its actor is in hand starts the actor
 * again afterwards, unless the activation has read a mailbox at least as new.
 */
import { runAlone, runTogether } from './activation.ts'
import type { Context, Handover } from './context.ts'
import { runGroup } from './group-turn.ts'
import { isGrouped } from './handlers.ts'
import { Lane, type LaneShape } from './lane.ts'
import type { Queued } from './least-loaded-queue.ts'
import { runLong } from './long-turn.ts'
import {
  type ActorKey,
  Fenced,
  type Hint,
  kindOf,
  type LongPool,
  NO_ORGANIZATION,
  POOLS,
  type Pool,
} from './types.ts'

/** Extra places of a lane of long turns, for organizations that have none in hand. */
const GUESTS = 1
/** The most retries that this worker remembers; the sweep finds the others. */
const MAX_TIMERS = 10_000

/** An actor in hand: its activation, and the newest message that a wake-up announced meanwhile. */
interface InHand {
  readonly activation: object
  readonly organization: string
  notified: number
}

/** Starts activations as wake-ups, takeovers and retries come in and places become free. */
export class Dispatcher {
  readonly #together: Lane
  readonly #alone: Lane
  readonly #dead: Lane
  readonly #long: Readonly<Record<LongPool, Lane>>
  /** Lanes of shared long turns. */
  readonly #grouped = new Map<LongPool, Lane>()
  readonly #lanes: readonly Lane[]
  readonly #inHand = new Map<ActorKey, InHand>()
  /** Queued actors of long turns that have to be taken over from a dead worker. */
  readonly #deadLong = new Set<ActorKey>()
  readonly #timers = new Set<Timer>()
  #changed = Promise.withResolvers<void>()
  #stopped = false

  constructor(private readonly context: Context) {
    const { batchSlots, batchKeys, aloneSlots, longSlots, mediaSlots, groupSlots, groupKeys } =
      context.options
    const { outboundSlots, outboundShare, backgroundSlots } = context.options
    const short = { pool: 'short', guests: 0 } as const
    this.#together = new Lane({ ...short, places: batchSlots, width: batchKeys }, (keys, handover) =>
      runTogether(context, keys, handover),
    )
    this.#alone = new Lane({ ...short, places: aloneSlots, width: 1 }, ([key], handover) =>
      runAlone(context, key!, false, handover),
    )
    this.#dead = new Lane({ ...short, places: 1, width: 1 }, ([key], handover) =>
      runAlone(context, key!, true, handover),
    )
    const long = (pool: LongPool, places: number, limits: Partial<LaneShape> = {}) =>
      new Lane({ pool, places, guests: GUESTS, width: 1, ...limits }, ([key], handover) =>
        runLong(context, key!, this.#deadLong.delete(key!), handover),
      )
    this.#long = {
      long: long('long', longSlots),
      media: long('media', mediaSlots),
      analysis: long('analysis', longSlots),
      background: long('background', backgroundSlots),
      outbound: long('outbound', outboundSlots, { guests: outboundSlots / 2, most: outboundShare }),
    }
    for (const definition of context.definitions.values()) {
      const { pool } = definition
      if (pool === 'short' || !isGrouped(definition)) continue
      const places = pool === 'background' ? backgroundSlots : groupSlots
      const shape = { pool, places, guests: GUESTS, width: groupKeys }
      this.#grouped.set(pool, new Lane(shape, (keys, handover) => runGroup(context, keys, handover)))
    }
    const { values } = Object
    this.#lanes = [this.#together, this.#alone, this.#dead, ...values(this.#long), ...this.#grouped.values()]
  }

  /**
   * A wake-up or the sweep announces that message `seq` waits for `key`. Kinds that this version does not define are left
   * to other workers. `dead`: the actor's owner is dead.
   */
  offer({ key, seq, organization }: Hint, dead = false): void {
    const pool = this.context.definitions.get(kindOf(key))?.pool
    if (pool === undefined) return
    const hint = { key, seq, organization }
    if (!dead) this.#enqueue(hint, this.#laneOf(pool))
    else if (pool === 'short') this.#enqueue(hint, this.#dead)
    else {
      if (!this.#inHand.has(key) && this.#grouped.get(pool)?.queue.has(key) !== true) this.#deadLong.add(key)
      this.#enqueue(hint, this.#long[pool])
    }
  }

  /** How many more actors a pool can take. */
  free(pool: Pool): number {
    return this.#stopped ? 0 : this.#laneOf(pool).free
  }

  /** True if a pool has room for another whole activation. */
  isHungry(pool: Pool): boolean {
    return this.free(pool) >= this.#laneOf(pool).width
  }

  /** The pools in which every place is taken. */
  fullPools(): readonly Pool[] {
    return this.#stopped ? [] : POOLS.filter((pool) => this.#laneOf(pool).isFull)
  }

  /** What a full pool still accepts, so that organizations can take turns: `share` of each organization, `room` in total. */
  waitingRoom(pool: Pool): {
    readonly share: number
    readonly room: number
    readonly isSated: (organization: string) => boolean
  } {
    const { share, waitingRoom: room, queue } = this.#laneOf(pool)
    return { share, room, isSated: (organization) => queue.sizeOf(organization) >= share }
  }

  /** Resolves when a place may have become free, or when the worker stops. */
  changed(): Promise<void> {
    return this.#changed.promise
  }

  /** Actors in hand or in a queue. */
  known(): ActorKey[] {
    return [...this.#inHand.keys(), ...this.#lanes.flatMap((one) => one.queue.keys())]
  }

  /** Actors in hand. */
  inHand(): ActorKey[] {
    return [...this.#inHand.keys()]
  }

  /** Begins no further activation; resolves when nothing is in hand. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const one of this.#lanes) one.queue.clear()
    this.#wake()
    while (this.#lanes.some((one) => one.activations > 0)) await this.changed()
  }

  /** The lane in which an actor of the pool normally begins. */
  #laneOf(pool: Pool): Lane {
    return pool === 'short' ? this.#together : (this.#grouped.get(pool) ?? this.#long[pool])
  }

  /** Where the actor runs alone. */
  #aloneLaneOf(key: ActorKey): Lane {
    const pool = this.context.definitions.get(kindOf(key))?.pool ?? 'short'
    return pool === 'short' ? this.#alone : this.#long[pool]
  }

  #enqueue({ key, seq, organization }: Hint, to: Lane): void {
    if (this.#stopped) return
    const inHand = this.#inHand.get(key)
    if (inHand !== undefined) {
      inHand.notified = Math.max(inHand.notified, seq)
      return
    }
    if (this.#lanes.some((one) => one.queue.has(key))) return
    to.queue.add(key, organization)
    // Waits until the other actors of this moment are queued, too, so that they share the activation.
    queueMicrotask(() => this.#pump(to))
  }

  #pump(one: Lane): void {
    for (let actors = one.next(); actors.length > 0; actors = one.next()) {
      const activation = {}
      for (const { key, organization } of actors)
        this.#inHand.set(key, { activation, organization, notified: 0 })
      void this.#activate(one, actors, activation)
    }
  }

  async #activate(one: Lane, actors: readonly Queued[], activation: object): Promise<void> {
    const { running } = this.context
    const { activeActors } = this.context.metrics
    const keys = actors.map(({ key }) => key)
    one.begin(actors)
    activeActors.inc({ pool: one.pool }, keys.length)
    try {
      // The end of another message's turn may begin this activation, but its errors must not be blamed on that message.
      await running.inNameOf(null, () => one.run(keys, this.#handoverOf(actors, activation)))
    } catch (error) {
      // The sweep finds the actors that this worker still owns in the database.
      if (!(error instanceof Fenced))
        this.context.log.error({ err: error, keys: keys.length }, 'activation failed')
    } finally {
      activeActors.dec({ pool: one.pool }, keys.length)
      one.end(actors)
      for (const key of keys) this.#leave(key, 0, activation)
      this.#pump(one)
      this.#wake()
    }
  }

  #handoverOf(actors: readonly Queued[], activation: object): Handover {
    const organizationOf = (key: ActorKey) =>
      actors.find((actor) => actor.key === key)?.organization ?? NO_ORGANIZATION
    return {
      leave: (key, seen) => this.#leave(key, seen, activation),
      later: (key, delayMs) => this.#later({ key, seq: 0, organization: organizationOf(key) }, delayMs),
      notifyAgain: (heads) =>
        this.context.notifier.notify(
          heads.map(({ key, seq, type }) => ({ key, seq, type, organization: organizationOf(key) })),
        ),
    }
  }

  /** Does nothing if another activation has the actor by now. */
  #leave(key: ActorKey, seen: number, activation: object): void {
    const inHand = this.#inHand.get(key)
    if (inHand?.activation !== activation) return
    this.#inHand.delete(key)
    const { organization, notified } = inHand
    if (notified > seen) this.offer({ key, seq: notified, organization })
  }

  #later(hint: Hint, delayMs: number): void {
    const start = () => this.#enqueue(hint, this.#aloneLaneOf(hint.key))
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
