/**
 * Remembers valid credentials for a few seconds, so that a busy caller costs one look-up per interval instead of one
 * per request.
 *
 * A revoked credential is refused at once in the process that revoked it, within a moment in the others (PostgreSQL
 * NOTIFY), and after `ttlMs` if notifications are lost. To keep that promise, nothing is cached until LISTEN works, the
 * cache is emptied when the listening connection was replaced, and a look-up is not cached if a revocation happened
 * meanwhile. Refusals are never cached, so a new key works at once.
 */
import { LRUCache } from 'lru-cache'
import type { Deps } from '../../kernel/deps.ts'

/** The payload is the id of a revoked key or secret, or of a user whose credentials changed. */
export const REVOKED_CHANNEL = 'earshot_credential_revoked'

export interface CacheOptions {
  readonly capacity: number
  readonly ttlMs: number
}

const DEFAULT_OPTIONS: CacheOptions = { capacity: 10_000, ttlMs: 5_000 }

export interface Found<T> {
  /** The id that a revocation names: of a key, a secret or a user. */
  readonly id: string
  readonly value: T
}

export interface CredentialCache<T> {
  /** The cached value of a digest, or the result of `find`. Null is returned but not cached. */
  get(digest: Buffer, find: () => Promise<Found<T> | null>): Promise<T | null>
  /** Drops a credential in this process. The caller that writes the revocation notifies the other processes. */
  revoke(id: string): void
}

/** Starts to LISTEN at the first look-up. The connection ends with the pool. */
export function createCredentialCache<T>(
  deps: Pick<Deps, 'listening' | 'log'>,
  options: CacheOptions = DEFAULT_OPTIONS,
): CredentialCache<T> {
  const entries = new LRUCache<string, Found<T>>({
    max: options.capacity,
    ttl: options.ttlMs,
    ttlResolution: 0,
  })
  let listening: 'not yet' | 'starting' | 'yes' = 'not yet'
  // Every revocation increments this. A look-up that began before a revocation is not cached after it.
  let generation = 0

  function revoke(id: string): void {
    generation++
    for (const [digest, entry] of entries) if (entry.id === id) entries.delete(digest)
  }

  function listen(): void {
    listening = 'starting'
    const onListen = () => {
      // The driver calls this again after a reconnect. Notifications may have been missed meanwhile.
      generation++
      entries.clear()
      listening = 'yes'
    }
    deps.listening.listen(REVOKED_CHANNEL, revoke, onListen).catch((error: unknown) => {
      // The driver tries again by itself and then calls `onListen`.
      deps.log.warn({ err: error }, 'not listening for revoked credentials yet')
    })
  }

  return {
    revoke,
    async get(hash, find) {
      if (listening === 'not yet') listen()
      const digest = hash.toString('base64')
      const entry = entries.get(digest)
      if (entry !== undefined) return entry.value
      const before = generation
      const lookedAt = performance.now()
      const found = await find()
      if (found === null) return null
      if (listening === 'yes' && generation === before) entries.set(digest, found, { start: lookedAt })
      return found.value
    },
  }
}
