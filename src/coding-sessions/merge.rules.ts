/**
 * Joins the facts of a file into events, in one pass and in bounded memory. Pure, apart from its own state.
 *
 * An event stays open until `MAX_OPEN` later events have begun or the open ones exceed `MAX_OPEN_UNITS`. Records that
 * belong to an event may be that far apart. A record that comes later makes a second version of the event with a lower
 * revision, and the store keeps the first. The result does not depend on how the file was cut into pieces.
 */
import {
  type CodingEvent,
  type EventFact,
  type Fact,
  type Format,
  NO_USAGE,
  type SessionFacts,
  type Usage,
} from './event.rules.ts'
import { eventIdOf, hashOf } from './event-id.rules.ts'
import { closed, isCopyOf, isNothing, join, type OpenEvent, unitsOf } from './open-event.rules.ts'

/** Events. */
const MAX_OPEN = 512
/** UTF-16 code units of content. */
const MAX_OPEN_UNITS = 8 * 1024 * 1024
/** Contents without an id whose repetitions are counted. Beyond it the oldest is forgotten. */
const MAX_COUNTED = 100_000
/** Turns that can be undone together. */
const MAX_TURNS = 1_000
/** The copied history of a fork is written at once, when the fork begins. */
const FORK_MS = 1_000

/** An event, or the order to mark as undone what is between two points of the session. */
export type Merged =
  | { readonly type: 'event'; readonly event: CodingEvent }
  /** `fromId`: the first undone event; if it is unknown, everything is undone. `before`: a position. */
  | { readonly type: 'undo'; readonly fromId: string; readonly before: number }

/** `externalSessionId`: null until the first event. */
export interface KnownSession extends Omit<SessionFacts, 'externalSessionId'> {
  readonly externalSessionId: string | null
}

interface Thread {
  readonly id: string
  readonly startedAt: string | null
}

export interface MergeOptions {
  readonly format: Format
  readonly externalSessionId?: string | undefined
}

export class Merger {
  /** Lines that could not be used. */
  skipped = 0
  readonly #options: MergeOptions
  readonly #open = new Map<string, OpenEvent>()
  readonly #copies = new Set<string>()
  readonly #counted = new Map<string, number>()
  #turns: string[] = []
  #units = 0
  #position = 0
  #session: SessionFacts = {}
  #scope: string | null = null
  #own: Thread | null = null
  #root: string | null = null
  #total: Usage | null = null
  #lastUser: OpenEvent | null = null
  #firstId: string | null = null

  constructor(options: MergeOptions) {
    this.#options = options
  }

  /** What the file has said about its session so far. */
  get session(): KnownSession {
    const { externalSessionId } = this.#options
    const derived = this.#firstId === null ? null : `derived-${this.#firstId}`
    return {
      ...this.#session,
      externalSessionId: externalSessionId ?? this.#session.externalSessionId ?? derived,
    }
  }

  /** Appends to `out` what is complete now. */
  take(fact: Fact, out: Merged[]): void {
    switch (fact.fact) {
      case 'skip':
        this.skipped++
        return
      case 'session':
        this.#learn(fact.session)
        return
      case 'thread':
        this.#begin(fact)
        return
      case 'total':
        this.#count(fact, out)
        return
      case 'undo':
        this.#undo(fact, out)
        return
      case 'event':
        this.#add(fact, out)
    }
  }

  /** The file has ended. */
  end(out: Merged[]): void {
    for (const open of this.#open.values()) out.push({ type: 'event', event: closed(open) })
    this.#open.clear()
    this.#lastUser = null
    this.#units = 0
  }

  /** The first value counts; only the title may change. */
  #learn({ title, ...others }: SessionFacts): void {
    this.#session = { ...others, ...this.#session, ...(title === undefined ? {} : { title }) }
  }

  #begin({ id, startedAt }: Thread): void {
    this.#own ??= { id, startedAt }
    if (id !== this.#own.id) this.#root = id
  }

  get #isFork(): boolean {
    return this.#root !== null
  }

  #isInherited(occurredAt: string | null): boolean {
    if (!this.#isFork || occurredAt === null || this.#own?.startedAt == null) return false
    return Date.parse(occurredAt) <= Date.parse(this.#own.startedAt) + FORK_MS
  }

  /** Ids of agents are unique in the world. Those of normalised events are unique in their session. */
  #scopeOf(identity: string): string {
    const { format, externalSessionId } = this.#options
    if (format === 'codex') return `codex ${this.#root ?? this.#own?.id ?? ''}`
    if (format !== 'normalized') return format
    this.#scope ??= `normalized ${externalSessionId ?? hashOf(identity)}`
    return this.#scope
  }

  #identityOf(fact: EventFact): string {
    if (fact.identity !== null) return fact.identity
    const content = hashOf(fact.kind, fact.role, fact.record)
    const seen = (this.#counted.get(content) ?? 0) + 1
    this.#counted.delete(content)
    this.#counted.set(content, seen)
    if (this.#counted.size > MAX_COUNTED) this.#counted.delete(this.#counted.keys().next().value as string)
    return `content ${content} ${seen}`
  }

  #add(fact: EventFact, out: Merged[]): void {
    if (this.#isCopy(fact)) return
    const identity = this.#identityOf(fact)
    const id = eventIdOf(this.#scopeOf(identity), identity)
    this.#firstId ??= id
    const known = this.#open.get(id)
    if (known !== undefined) {
      this.#units += join(known, fact)
      this.#trim(out)
      return
    }
    const open: OpenEvent = {
      id,
      position: this.#position++,
      first: fact,
      latest: fact,
      records: new Set([fact.record]),
      inherited: this.#isInherited(fact.occurredAt),
      parts: [...fact.parts],
      units: unitsOf(fact.parts),
      usage: fact.usage ?? NO_USAGE,
    }
    this.#open.set(id, open)
    this.#units += open.units
    if (fact.kind === 'message' && fact.role === 'user') {
      this.#lastUser = open
      this.#turns.push(id)
      if (this.#turns.length > MAX_TURNS) this.#turns.shift()
    }
    this.#trim(out)
  }

  /** Some versions write the user's message twice, with two ids. Both may be repeated. */
  #isCopy(fact: EventFact): boolean {
    if (fact.identity === null) return false
    if (this.#copies.has(fact.identity)) return true
    if (!isCopyOf(fact, this.#lastUser)) return false
    this.#copies.add(fact.identity)
    if (this.#copies.size > MAX_OPEN) this.#copies.delete(this.#copies.values().next().value as string)
    return true
  }

  #trim(out: Merged[]): void {
    for (const [id, open] of this.#open) {
      if (this.#open.size <= MAX_OPEN && this.#units <= MAX_OPEN_UNITS) return
      this.#open.delete(id)
      this.#units -= open.units
      out.push({ type: 'event', event: closed(open) })
    }
  }

  /** Totals are repeated without growth, and begin anew after some errors. */
  #count({ total, last, occurredAt }: Extract<Fact, { fact: 'total' }>, out: Merged[]): void {
    const before = this.#total ?? NO_USAGE
    const growth = difference(total, before)
    if (isNothing(growth)) return
    this.#total = total
    const usage = isNegative(growth) ? (last ?? total) : growth
    const record = `total ${Object.values(total).join(' ')}`
    this.#add(
      {
        fact: 'event',
        identity: record,
        record,
        kind: 'usage',
        role: 'assistant',
        occurredAt,
        model: null,
        sidechain: false,
        parts: [],
        usage,
      },
      out,
    )
  }

  #undo(fact: Extract<Fact, { fact: 'undo' }>, out: Merged[]): void {
    const first =
      'turns' in fact
        ? this.#turns.splice(Math.max(0, this.#turns.length - fact.turns))[0]
        : eventIdOf(this.#scopeOf(fact.identity), fact.identity)
    if (first === undefined) return
    this.end(out)
    out.push({ type: 'undo', fromId: first, before: this.#position })
  }
}

function difference(total: Usage, before: Usage): Usage {
  return {
    inputTokens: total.inputTokens - before.inputTokens,
    outputTokens: total.outputTokens - before.outputTokens,
    cacheReadTokens: total.cacheReadTokens - before.cacheReadTokens,
    cacheWriteTokens: total.cacheWriteTokens - before.cacheWriteTokens,
    reasoningTokens: total.reasoningTokens - before.reasoningTokens,
  }
}

const isNegative = (usage: Usage) => Object.values(usage).some((tokens) => tokens < 0)

export const hasEvents = (merged: readonly Merged[]) => merged.some(({ type }) => type === 'event')
