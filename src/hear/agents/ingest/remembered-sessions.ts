/**
 * Remembers sessions as this process stored them last, so that a request with only new events is stored without a read.
 *
 * A remembered session never justifies a refusal. The write succeeds only while the session still has the remembered version.
 * Otherwise, and where the remembered session would refuse the request, ingestion reads the session and decides again.
 *
 * Where several processes write to one session in turn, the memory of each would always be outdated. So an outdated session is
 * invalidated, and becomes usable again only after a request has found it as this process left it.
 */
import { LRUCache } from 'lru-cache'
import type { SessionKey, SessionRow } from './model.ts'

export interface RememberedSession {
  readonly session: SessionRow
  /** The version of the session as this process left it (see `versionOf`). */
  readonly version: number
  /** The highest stored sequence; -1: no event is stored. */
  readonly highest: number
  readonly creditsExhausted: boolean
}

export interface RememberedSessions {
  get(key: SessionKey): RememberedSession | null
  /** Call after a request was stored. @param versionBefore the version that the request was decided by; null: the session is new */
  remember(key: SessionKey, known: RememberedSession, versionBefore: number | null): void
  /** Call where the remembered session is or may be outdated. `get` returns null until a request is decided by the remembered version. */
  invalidate(key: SessionKey): void
}

const CAPACITY = 10_000
/** Characters of JSON. A larger session is not remembered, and every request reads it. */
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
