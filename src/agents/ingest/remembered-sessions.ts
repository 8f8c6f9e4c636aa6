/**
 * Sessions as this process stored them last, so that a request with nothing but new events of one is stored without a look first.
 *
 * The rule: what is remembered is never the reason for an answer. It is written on condition that it still holds, and what
 * is refused by it, or does not hold any more, is judged by what is stored. Where processes take turns at a session, remembering
 * would be wrong every time, so after it was wrong a session has to be found once as this process left it.
 */
import { LRUCache } from 'lru-cache'
import type { SessionKey, SessionRow } from './rows.store.ts'

export interface RememberedSession {
  readonly session: SessionRow
  /** Of the session, as ingestion left it (see `versionOf`). */
  readonly version: number
  /** The highest sequence that is stored; -1: none is. */
  readonly highest: number
  readonly creditsExhausted: boolean
}

export interface RememberedSessions {
  get(key: SessionKey): RememberedSession | null
  /** After a request was stored. @param versionBefore what it was decided by; null: the session is new */
  remember(key: SessionKey, known: RememberedSession, versionBefore: number | null): void
  /** What is remembered does not hold any more, or may not: not used before a request was decided by what was noted last. */
  invalidate(key: SessionKey): void
}

const CAPACITY = 10_000
/** Characters of JSON. A session with more to remember is read each time. */
const MAX_SIZE = 2_000

type Entry = RememberedSession & { readonly invalidated: boolean }

/** Keeps the most recently stored sessions of this process. */
export function createRememberedSessions(): RememberedSessions {
  const entries = new LRUCache<string, Entry>({ max: CAPACITY })
  const nameOf = (key: SessionKey) => `${key.applicationId} ${key.externalSessionId}`

  return {
    get(key) {
      const entry = entries.get(nameOf(key))
      return entry === undefined || entry.invalidated ? null : entry
    },
    remember(key, known, versionBefore) {
      const name = nameOf(key)
      const before = entries.get(name)
      entries.delete(name)
      if (JSON.stringify(known.session).length > MAX_SIZE) return
      const invalidated = before?.invalidated === true && before.version !== versionBefore
      entries.set(name, { ...known, invalidated })
    },
    invalidate(key) {
      const name = nameOf(key)
      const entry = entries.get(name)
      if (entry !== undefined) entries.set(name, { ...entry, invalidated: true })
    },
  }
}
