/**
 * What waits to be sent: bounded, in the order of each session. When the bound is reached, the oldest event that is not being sent
 * goes, because the newest words are worth most.
 */
import type { AppendEvent } from './messages.rules.ts'

/** An event that waits, serialised. */
export interface Waiting {
  /** Rises with each event of the process. */
  readonly number: number
  readonly json: string
  /** UTF-8 bytes of `json`, about. */
  readonly bytes: number
}

/** Members of requests beside their events. A later one replaces an earlier one. */
export interface SessionMembers {
  readonly agentKey: string
  readonly externalSessionId: string
  readonly agentVersion?: string
  readonly context?: Readonly<Record<string, unknown>>
  readonly participants?: readonly Readonly<Record<string, unknown>>[]
}

/** Both are final. Later messages are stored, too. */
export type EndStatus = 'ended' | 'abandoned'

/** One session's part of the queue. */
export interface Lane {
  members: SessionMembers
  readonly waiting: Waiting[]
  /** The last event that was handed over. A request has at least one event, so a bare end repeats it. */
  last: string | null
  end: EndStatus | null
  /** The batch of the running request; its events count as waiting. */
  sending: Batch | null
  failures: number
}

/** A request whose body never changes, so that the service knows a repetition. */
export interface Batch {
  readonly events: readonly Waiting[]
  readonly body: string
  readonly end: EndStatus | null
}

/** Over these bounds the oldest events are dropped. */
export interface Bounds {
  readonly maxEvents: number
  readonly maxBytes: number
}

/** Most of one request. The service takes 500 events and 2 MiB. */
const MAX_BATCH_EVENTS = 200
const MAX_BATCH_BYTES = 1024 * 1024

/** What waits, by session. Sends nothing itself. */
export class Queue {
  readonly lanes = new Map<string, Lane>()
  events = 0
  bytes = 0
  #number = 0

  constructor(
    private readonly bounds: Bounds,
    /** Gets what was dropped. */
    private readonly dropped: (events: readonly Waiting[]) => void,
  ) {}

  /** Creates the lane of a session that has none. */
  laneOf(members: SessionMembers): Lane {
    const known = this.lanes.get(members.externalSessionId)
    if (known !== undefined) {
      // A handle without person or context, such as one for feedback, takes nothing away.
      known.members = { ...known.members, ...members }
      return known
    }
    const lane: Lane = { members, waiting: [], last: null, end: null, sending: null, failures: 0 }
    this.lanes.set(members.externalSessionId, lane)
    return lane
  }

  /** Drops the oldest events if the queue is full. */
  add(lane: Lane, event: AppendEvent): Waiting {
    const json = JSON.stringify(event)
    return this.restore(lane, { number: ++this.#number, json, bytes: json.length })
  }

  /** Adds an event that was serialised before. */
  restore(lane: Lane, waiting: Waiting): Waiting {
    this.#number = Math.max(this.#number, waiting.number)
    lane.waiting.push(waiting)
    lane.last = waiting.json
    this.events++
    this.bytes += waiting.bytes
    this.#keepBounds()
    return waiting
  }

  /** The lane's next request. Null: it has nothing to send. */
  take(lane: Lane, most = MAX_BATCH_EVENTS): Batch | null {
    const events: Waiting[] = []
    let bytes = 0
    for (const one of lane.waiting) {
      if (events.length === most || (events.length > 0 && bytes + one.bytes > MAX_BATCH_BYTES)) break
      events.push(one)
      bytes += one.bytes
    }
    const isLast = events.length === lane.waiting.length
    const end = isLast ? lane.end : null
    const texts =
      events.length > 0 ? events.map(({ json }) => json) : end !== null && lane.last ? [lane.last] : []
    if (texts.length === 0) return null
    lane.waiting.splice(0, events.length)
    const head = JSON.stringify({ ...lane.members, source: SOURCE, ...(end === null ? {} : { status: end }) })
    lane.sending = { events, end, body: `${head.slice(0, -1)},"events":[${texts.join(',')}]}` }
    return lane.sending
  }

  /** The lane's request is over: its events leave the queue. */
  settle(lane: Lane): void {
    const { sending } = lane
    if (sending === null) return
    lane.sending = null
    if (sending.end !== null && lane.end === sending.end) lane.end = null
    this.#forget(sending.events)
    if (lane.waiting.length === 0 && lane.end === null) this.lanes.delete(lane.members.externalSessionId)
  }

  /** The lane's request was refused as a whole: its events wait again, in front. */
  putBack(lane: Lane): void {
    if (lane.sending === null) return
    lane.waiting.unshift(...lane.sending.events)
    lane.sending = null
  }

  /** Numbers of all events that are still to be sent. */
  numbers(): ReadonlySet<number> {
    const all = [...this.lanes.values()].flatMap(({ waiting, sending }) => [
      ...(sending?.events ?? []),
      ...waiting,
    ])
    return new Set(all.map(({ number }) => number))
  }

  #forget(events: readonly Waiting[]): void {
    this.events -= events.length
    for (const { bytes } of events) this.bytes -= bytes
  }

  #keepBounds(): void {
    while (this.events > this.bounds.maxEvents || this.bytes > this.bounds.maxBytes) {
      const oldest = this.#oldestLane()
      if (oldest === null) return
      const gone = oldest.waiting.splice(0, 1)
      this.#forget(gone)
      this.dropped(gone)
    }
  }

  #oldestLane(): Lane | null {
    let oldest: Lane | null = null
    for (const lane of this.lanes.values()) {
      const first = lane.waiting[0]
      if (first === undefined) continue
      if (oldest === null || first.number < (oldest.waiting[0]?.number ?? 0)) oldest = lane
    }
    return oldest
  }
}

/** What the service notes as the sender. */
const SOURCE = { sdk: '@earshot/sdk', version: '0.1.0' }
