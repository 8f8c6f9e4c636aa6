/**
 * Remembers for a few seconds which credentials were found good, so that a busy caller costs one look-up per interval
 * and not one per request.
 *
 * The rule: a revoked credential is refused at once in the process that revoked it, within a moment in every other one
 * (PostgreSQL NOTIFY), and after `ttlMs` even where notifications do not arrive. So: nothing is remembered before LISTEN
 * is known to work, everything is forgotten when the listening connection was replaced, and a look-up that a revocation
 * overtook is not remembered. Refusals are never remembered: a new key works at once.
 */
import type { Sql } from '../platform/db/pool.ts'
import type { Log } from '../platform/observability/log.ts'

/** Payload: the id of the credential that is no longer good. */
export const REVOKED_CHANNEL = 'earshot_credential_revoked'

export interface CacheOptions {
  readonly capacity: number
  readonly ttlMs: number
}

const DEFAULT_OPTIONS: CacheOptions = { capacity: 10_000, ttlMs: 5_000 }

interface Entry<T> {
  /** What a revocation names: the id of a key, a secret or a user. */
  readonly id: string
  readonly value: T
  readonly goodUntil: number
}

export interface Found<T> {
  readonly id: string
  readonly value: T
}

export interface CredentialCache<T> {
  /** The remembered value of a digest, or else what `find` finds; `null` is passed on and not remembered. */
  get(digest: Buffer, find: () => Promise<Found<T> | null>): Promise<T | null>
  /** Forgets a credential in this process. Other processes learn it from the notification. */
  revoke(id: string): void
}

/** LISTENs when first used; the connection ends with the pool. */
export function createCredentialCache<T>(
  deps: { readonly sql: Sql; readonly log: Log },
  options: CacheOptions = DEFAULT_OPTIONS,
): CredentialCache<T> {
  const entries = new Map<string, Entry<T>>()
  let listening: 'not yet' | 'starting' | 'yes' = 'not yet'
  // Rises with every revocation: a look-up that began before it must not be remembered after it.
  let generation = 0

  function revoke(id: string): void {
    generation++
    for (const [digest, entry] of entries) if (entry.id === id) entries.delete(digest)
  }

  function listen(): void {
    listening = 'starting'
    const onListen = () => {
      // Also called after a reconnect, when notifications may have been missed.
      generation++
      entries.clear()
      listening = 'yes'
    }
    deps.sql.listen(REVOKED_CHANNEL, revoke, onListen).catch((error: unknown) => {
      // The driver tries again by itself and calls `onListen` then.
      deps.log.warn({ err: error }, 'not listening for revoked credentials yet')
    })
  }

  function remember(digest: string, found: Found<T>, lookedAt: number): void {
    entries.set(digest, { ...found, goodUntil: lookedAt + options.ttlMs })
    if (entries.size <= options.capacity) return
    // A Map keeps insertion order, and a hit moves its entry to the end: the first is the least recently used.
    for (const oldest of entries.keys()) {
      entries.delete(oldest)
      break
    }
  }

  return {
    revoke,
    async get(hash, find) {
      if (listening === 'not yet') listen()
      const digest = hash.toString('base64')
      const entry = entries.get(digest)
      if (entry !== undefined) {
        entries.delete(digest)
        if (entry.goodUntil > performance.now()) {
          entries.set(digest, entry)
          return entry.value
        }
      }
      const before = generation
      const lookedAt = performance.now()
      const found = await find()
      if (found === null) return null
      if (listening === 'yes' && generation === before) remember(digest, found, lookedAt)
      return found.value
    },
  }
}
