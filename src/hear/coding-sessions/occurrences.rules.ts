/**
 * Tells events apart that have one id. Pure, apart from its own state.
 *
 * Models give ids to answers and calls, and relays, local models and other providers do not keep them unique: every answer
 * has one `message.id`, or the calls of each answer are numbered from 0. An id that comes again is a new event if its content
 * or its place in the conversation differs. The first event of an id has the id alone, so most ids are what the agent wrote.
 */
import type { EventFact, Repeats } from './event.rules.ts'
import { keyOf } from './event-id.rules.ts'
import { addBounded, forgetOldest } from './open-event.rules.ts'

/** Ids that are remembered, of answers and of calls. A forgotten id that comes again counts as its first event. */
const MAX_SEEN = 20_000
/** Records and calls that are remembered, of one id and of all. Beyond it the oldest are forgotten, and with them their ids. */
const MAX_OF_ONE = 50_000
const MAX_OF_ALL = 200_000

interface Seen {
  /** How many events had the id. */
  readonly count: number
  /** Of the latest of these events: */
  readonly records: Set<string>
  readonly calls: Set<string>
  content: string
  at: number
  request: string | null
  isStopped: boolean
  inputTokens: number
}

export class Occurrences {
  readonly #seen = new Map<string, Seen>()
  /** When calls were made, and results came, by the id of the call. */
  readonly #calls = new Map<string, number>()
  readonly #results = new Map<string, number>()
  /** When a person last wrote, and a tool last answered, by chain. */
  readonly #people = new Map<string, number>()
  readonly #answered = new Map<string, number>()
  /** Records and calls of `#seen`. */
  #kept = 0
  #now = 0

  /** The identity of the event that the record belongs to. Each record is asked for once, in the order of the file. */
  identityOf(given: EventFact, identity: string): string {
    this.#now++
    const fact = { ...given, record: keyOf(given.record) }
    const { repeats } = fact
    const chain = keyOf(fact.chain ?? '')
    const known = repeats === undefined ? undefined : this.#seen.get(keyOf(identity))
    // A line that is written again changes nothing.
    if (known?.records.has(fact.record) && repeats?.type === 'answer') return numbered(identity, known.count)
    const isNew = known === undefined || (repeats !== undefined && this.#isAnother(fact, repeats, known))
    const count = known === undefined ? 1 : isNew ? known.count + 1 : known.count
    if (repeats !== undefined) this.#remember(identity, fact, repeats, isNew ? undefined : known, count)
    if (fact.kind === 'message' && fact.role === 'user') remember(this.#people, chain, this.#now, MAX_SEEN)
    if (fact.kind === 'tool_result') remember(this.#answered, chain, this.#now, MAX_SEEN)
    return numbered(identity, count)
  }

  #remember(
    identity: string,
    fact: EventFact,
    repeats: Repeats,
    known: Seen | undefined,
    count: number,
  ): void {
    const seen: Seen = known ?? {
      count,
      records: new Set(),
      calls: new Set(),
      content: '',
      at: 0,
      request: null,
      isStopped: false,
      inputTokens: 0,
    }
    seen.at = this.#now
    const before = known === undefined ? 0 : sizeOf(known)
    addBounded(seen.records, fact.record, MAX_OF_ONE)
    if (repeats.type === 'result') {
      seen.content = repeats.content
      remember(this.#results, keyOf(repeats.callId), this.#now, MAX_SEEN)
    } else
      for (const { id } of callsOf(fact)) {
        if (id === undefined) continue
        addBounded(seen.calls, keyOf(id), MAX_OF_ONE)
        remember(this.#calls, keyOf(id), this.#now, MAX_SEEN)
      }
    if (repeats.type === 'answer') {
      seen.request ??= repeats.request === null ? null : keyOf(repeats.request)
      seen.isStopped ||= repeats.isStopped
      seen.inputTokens ||= inputOf(fact)
    }
    this.#kept += sizeOf(seen) - before
    this.#keep(keyOf(identity), seen)
  }

  /** Keeps it as the newest, and forgets the oldest beyond the limits. */
  #keep(key: string, seen: Seen): void {
    const replaced = this.#seen.get(key)
    if (replaced !== undefined && replaced !== seen) this.#kept -= sizeOf(replaced)
    this.#seen.delete(key)
    this.#seen.set(key, seen)
    const isFull = this.#seen.size > MAX_SEEN + MAX_SEEN / 8 || this.#kept > MAX_OF_ALL + MAX_OF_ALL / 8
    if (!isFull) return
    for (const [oldest, gone] of this.#seen) {
      if (this.#seen.size <= MAX_SEEN && this.#kept <= MAX_OF_ALL) return
      this.#seen.delete(oldest)
      this.#kept -= sizeOf(gone)
    }
  }

  #isAnother(fact: EventFact, repeats: Repeats, known: Seen): boolean {
    switch (repeats.type) {
      case 'call':
        return !known.records.has(fact.record) || (this.#results.get(keyOf(repeats.callId)) ?? 0) > known.at
      case 'result':
        return known.content !== repeats.content || (this.#calls.get(keyOf(repeats.callId)) ?? 0) > known.at
      case 'answer':
        return this.#isAnotherAnswer(fact, repeats, known)
    }
  }

  /**
   * Blocks of one answer are lines that follow each other. Only results of calls that the answer itself has made may stand between
   * them: tools begin to run while the answer is still being written.
   */
  #isAnotherAnswer(fact: EventFact, repeats: Repeats & { type: 'answer' }, known: Seen): boolean {
    const chain = keyOf(fact.chain ?? '')
    if (repeats.parent !== null && known.records.has(keyOf(repeats.parent))) return false
    const request = repeats.request === null ? null : keyOf(repeats.request)
    const isSameRequest = request !== null && request === known.request
    if (request !== null && known.request !== null && !isSameRequest) return true
    if ((this.#people.get(chain) ?? 0) > known.at) return true
    if ((this.#answered.get(chain) ?? 0) < known.at) return false
    const inputTokens = inputOf(fact)
    return (
      known.isStopped ||
      (known.inputTokens > 0 && inputTokens > 0 && known.inputTokens !== inputTokens) ||
      callsOf(fact).some(({ id }) => id !== undefined && known.calls.has(keyOf(id))) ||
      (!isSameRequest && fact.parts.some(({ type }) => type !== 'call'))
    )
  }
}

/** Sets an entry, as the newest one, and forgets the oldest where there are an eighth more than `max`. */
export function remember<T>(map: Map<string, T>, key: string, value: T, max: number): void {
  map.delete(key)
  map.set(key, value)
  forgetOldest(map, max)
}

const sizeOf = ({ records, calls }: Seen) => records.size + calls.size

const numbered = (identity: string, count: number) => (count === 1 ? identity : `${identity} ${count}`)

const callsOf = ({ parts }: EventFact) => parts.flatMap((part) => (part.type === 'call' ? [part.call] : []))

/** All tokens of the prompt. They are the same on every line of an answer, or 0 before the last one. */
function inputOf({ usage }: EventFact): number {
  return usage === undefined ? 0 : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens
}
