/**
 * Tells which events a fork or a sub-agent of Codex has copied from the thread that it continues. Pure, apart from its own state.
 *
 * A fork's file begins with the history of its parent, written anew in one go with new times. Newer versions number the lines
 * and say where the copy ends; ids of turns are UUIDs of version 7, which contain a time (RFC 9562 section 5.7). Otherwise the
 * copy ends with the first pause.
 */
import type { ThreadFact } from './event.rules.ts'

/** The longest pause within a copy that is being written. */
const PAUSE_MS = 2_000
/** Ancestors that are remembered. */
const MAX_ANCESTORS = 100

interface Place {
  readonly occurredAt: string | null
  readonly ordinal?: number | undefined
  /** The thread that the record says it belongs to. */
  readonly threadId?: string | undefined
}

/** What a thread continues. */
export interface Ancestry {
  readonly threadIds: readonly string[]
  /** RFC 3339. Later events of the ancestors are not part of the copy. */
  readonly forkedAt: string | null
}

export class Threads {
  #own: ThreadFact | null = null
  readonly #ancestors = new Set<string>()
  /** The last thread that the file itself begins with. */
  #root: string | null = null
  #turnAt: number | null = null
  /** The time of the last copied line. null: the copy is over. */
  #copiedAt: number | null = null

  begin(thread: ThreadFact): void {
    if (this.#own === null) {
      this.#own = thread
      this.#copiedAt = thread.startedAt === null ? null : Date.parse(thread.startedAt)
    } else if (thread.id !== this.#own.id) this.#root = thread.id
    for (const id of [thread.id, thread.parentId])
      if (id !== null && id !== this.#own.id && this.#ancestors.size < MAX_ANCESTORS) this.#ancestors.add(id)
  }

  beginTurn(id: string): void {
    this.#turnAt = timeOfUuid(id)
  }

  get ancestry(): Ancestry {
    return { threadIds: [...this.#ancestors], forkedAt: this.#own?.startedAt ?? null }
  }

  /** Within it the identities of Codex are unique. A copied event has that of the thread it was copied from. */
  scopeOf(isInherited: boolean): string {
    const parent = isInherited ? this.#own?.parentId : undefined
    return this.#root ?? parent ?? this.#own?.id ?? ''
  }

  /** Asked for once for each record, in the order of the file. */
  isInherited(place: Place): boolean {
    const own = this.#own
    if (own === null || this.#ancestors.size === 0) return false
    if (place.threadId !== undefined) return place.threadId !== own.id
    if (place.ordinal !== undefined && own.historyEnd !== null) return place.ordinal < own.historyEnd
    if (this.#copiedAt === null || place.occurredAt === null) return false
    const startedAt = timeOfUuid(own.id)
    const isTurnOfParent = startedAt === null || this.#turnAt === null ? null : this.#turnAt < startedAt
    const at = Date.parse(place.occurredAt)
    const isCopied = isTurnOfParent ?? at <= this.#copiedAt + PAUSE_MS
    this.#copiedAt = isCopied ? Math.max(at, this.#copiedAt) : null
    return isCopied
  }
}

const UUID_7 = /^([\da-f]{8})-([\da-f]{4})-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/i

/** Milliseconds since 1970; null: the id is no UUID of version 7. */
function timeOfUuid(id: string): number | null {
  const found = UUID_7.exec(id)
  return found === null ? null : Number.parseInt(`${found[1]}${found[2]}`, 16)
}
