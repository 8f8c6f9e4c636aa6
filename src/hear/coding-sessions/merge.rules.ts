/**
 * Joins the facts of a file into events, in one pass and in bounded memory. Pure, apart from its own state.
 *
 * An event stays open until `MAX_OPEN` later events have begun or the open ones exceed `MAX_OPEN_UNITS`. Records that
 * belong to an event may be that far apart. A record that comes later makes a second version of the event with a lower
 * revision, and the store keeps the first. The result does not depend on how the file was cut into pieces.
 */
import type { CodingEvent, EventFact, Fact, Format, SessionFacts, TotalFact, Usage } from './event.rules.ts'
import { eventIdOf, hashOf } from './event-id.rules.ts'
import { Occurrences, remember } from './occurrences.rules.ts'
import { addBounded, closed, isCopyOf, join, note, type OpenEvent, opened } from './open-event.rules.ts'
import { Prompts } from './prompts.rules.ts'
import { type Ancestry, Threads } from './threads.rules.ts'
import { Totals } from './totals.rules.ts'
import { UsagePlaces } from './usage-places.rules.ts'

/** Events. */
const MAX_OPEN = 512
/** UTF-16 code units of content. */
const MAX_OPEN_UNITS = 8 * 1024 * 1024
/** Contents without an id whose repetitions are counted. Beyond it the oldest is forgotten. */
const MAX_COUNTED = 100_000
/** Turns that can be undone together. */
const MAX_TURNS = 1_000

/** An event, or the order to mark as undone what is between two points of the session. */
export type Merged =
  | { readonly type: 'event'; readonly event: CodingEvent }
  /** `fromId`: the first undone event; if it is unknown, everything is undone. `before`: a position. */
  | { readonly type: 'undo'; readonly fromId: string; readonly before: number }

/** `externalSessionId`: null until the first event. */
export interface KnownSession extends Omit<SessionFacts, 'externalSessionId'> {
  readonly externalSessionId: string | null
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
  readonly #records = new Set<string>()
  readonly #copies = new Set<string>()
  readonly #formerIds = new Set<string>()
  readonly #counted = new Map<string, number>()
  #turns: string[] = []
  #units = 0
  #position = 0
  #session: SessionFacts = {}
  #scope: string | null = null
  readonly #occurrences = new Occurrences()
  readonly #threads = new Threads()
  readonly #totals = new Totals()
  readonly #places = new UsagePlaces()
  readonly #prompts = new Prompts()
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

  /** The threads that the file continues. null: the format tells of none. */
  get ancestry(): Ancestry | null {
    return this.#options.format === 'codex' ? this.#threads.ancestry : null
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
        this.#threads.begin(fact)
        return
      case 'turn':
        this.#threads.beginTurn(fact.id)
        this.#totals.turn()
        this.#places.beginTurn(fact.id)
        return
      case 'total':
        this.#count(fact, out)
        return
      case 'queued':
        this.#queue(fact.event, out)
        return
      case 'dequeued':
        this.#prompts.take(fact.text)
        return
      case 'withdrawn':
        for (const prompt of this.#prompts.withdraw(fact.text)) this.#discount(prompt, out)
        return
      case 'undo':
        this.#undo(fact, out)
        return
      case 'event':
        this.#converse(fact, out)
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

  /**
   * Ids that agents make are unique in the world, apart from those of Codex. Those of normalised events are unique in their session.
   */
  #scopeOf(identity: string, isInherited: boolean): string {
    const { format, externalSessionId } = this.#options
    if (format === 'codex') return `codex ${this.#threads.scopeOf(isInherited)}`
    if (format !== 'normalized') return format
    this.#scope ??= `normalized ${externalSessionId ?? hashOf(identity)}`
    return this.#scope
  }

  #identityOf(fact: EventFact): string {
    if (fact.identity !== null) return this.#occurrences.identityOf(fact, fact.identity)
    const content = hashOf(fact.kind, fact.role, fact.record)
    const seen = (this.#counted.get(content) ?? 0) + 1
    remember(this.#counted, content, seen, MAX_COUNTED)
    return `content ${content} ${seen}`
  }

  /** `isInherited`: as of a copied history; judged by the record if it is not known. @returns undefined for a copy */
  #add(
    fact: EventFact,
    out: Merged[],
    isInherited = this.#threads.isInherited(fact),
    formerId: string | null = null,
  ): OpenEvent | undefined {
    if (this.#isCopy(fact)) return
    if (fact.role === 'assistant' && fact.kind !== 'usage') this.#totals.answer()
    const identity = this.#identityOf(fact)
    const id = eventIdOf(this.#scopeOf(identity, isInherited), identity)
    this.#firstId ??= id
    const known = this.#open.get(id)
    if (known !== undefined) {
      this.#units += join(known, fact)
      this.#trim(out)
      return known
    }
    const open = opened(fact, {
      id,
      formerId,
      origin:
        fact.repeats === undefined || fact.chain === undefined ? null : eventIdOf('record', fact.record),
      position: this.#position++,
      inherited: isInherited,
      records: this.#records,
    })
    this.#open.set(id, open)
    this.#units += open.units
    this.#trim(out)
    return open
  }

  /** Events of the conversation also tell which waiting prompts the agent has taken. */
  #converse(fact: EventFact, out: Merged[]): void {
    if (fact.role === 'assistant' && fact.sidechain === false) this.#prompts.answer()
    const position = this.#position
    const event = this.#add(fact, out)
    if (event === undefined || event.position < position || event.first.role !== 'user') return
    if (event.first.kind !== 'message') return
    for (const prompt of this.#prompts.match(textsOf(fact))) this.#discount(prompt, out)
    this.#lastUser = event
    this.#turns.push(event.id)
    if (this.#turns.length > MAX_TURNS) this.#turns.shift()
    if (this.#options.format !== 'codex') return
    this.#totals.turn()
    this.#places.message()
  }

  #queue(fact: EventFact, out: Merged[]): void {
    const event = this.#add(fact, out)
    const [text] = textsOf(fact)
    if (event !== undefined && text !== undefined && fact.kind === 'message') this.#prompts.add(text, event)
  }

  /** The prompt is a message elsewhere, or was never sent. */
  #discount(prompt: OpenEvent, out: Merged[]): void {
    prompt.first = { ...prompt.first, kind: 'notice', role: 'system' }
    note(prompt, 'written again')
    if (!this.#open.has(prompt.id)) out.push({ type: 'event', event: closed(prompt) })
  }

  /** Some versions write the user's message twice, with two ids. Both may be repeated. */
  #isCopy(fact: EventFact): boolean {
    if (fact.identity === null) return false
    if (this.#copies.has(fact.identity)) return true
    if (!isCopyOf(fact, this.#lastUser)) return false
    addBounded(this.#copies, fact.identity, MAX_OPEN)
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

  #count(fact: TotalFact, out: Merged[]): void {
    const isInherited = this.#threads.isInherited(fact)
    const counted = this.#totals.count({ ...fact, isInherited })
    if (counted === null) return
    const { responseId } = fact
    const answer = responseId === undefined ? null : `${responseId} ${Object.values(counted.usage).join(' ')}`
    const identity = this.#places.next(answer)
    if (identity === null) return
    const event: EventFact = {
      fact: 'event',
      identity,
      record: identity,
      kind: 'usage',
      role: 'assistant',
      occurredAt: fact.occurredAt,
      model: null,
      sidechain: false,
      parts: [],
      usage: counted.usage,
    }
    this.#add(event, out, isInherited, this.#formerUsage(event, counted.total, responseId, isInherited))
  }

  /** The id of earlier versions, which named tokens by their number. Sessions that are stored still have it. */
  #formerUsage(event: EventFact, total: Usage, response: string | undefined, isInherited: boolean) {
    const named = response === undefined ? `total ${Object.values(total).join(' ')}` : `response ${response}`
    const record = response === undefined ? hashOf(named, String(this.#position)) : named
    const identity = this.#occurrences.identityOf(
      { ...event, record, repeats: { type: 'call', callId: named } },
      named,
    )
    const id = eventIdOf(this.#scopeOf(identity, isInherited), identity)
    // A relay that gives all answers one id had one event for them all: only the first is that one.
    if (this.#formerIds.has(id)) return null
    addBounded(this.#formerIds, id, MAX_OPEN)
    return id
  }

  #undo(fact: Extract<Fact, { fact: 'undo' }>, out: Merged[]): void {
    const first =
      'turns' in fact
        ? this.#turns.splice(Math.max(0, this.#turns.length - fact.turns))[0]
        : eventIdOf(this.#scopeOf(fact.identity, false), fact.identity)
    if (first === undefined) return
    this.end(out)
    out.push({ type: 'undo', fromId: first, before: this.#position })
  }
}

const textsOf = ({ parts }: EventFact) =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []))

export const hasEvents = (merged: readonly Merged[]) => merged.some(({ type }) => type === 'event')
