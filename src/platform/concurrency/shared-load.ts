/**
 * Concurrent requests for the same value share one query. A request that arrives while a query is running shares the next
 * one. So no request gets an older value than its own query would have returned.
 */

/** Wraps `load`. `keyOf` returns the key of the value. Values are not cached. */
export function createSharedLoad<A extends readonly unknown[], T>(
  keyOf: (...args: A) => string,
  load: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  const running = new Map<string, Promise<T>>()
  const next = new Map<string, Promise<T>>()

  function begin(key: string, args: A): Promise<T> {
    next.delete(key)
    const query = load(...args).finally(() => running.delete(key))
    running.set(key, query)
    return query
  }

  return (...args) => {
    const key = keyOf(...args)
    const present = running.get(key)
    if (present === undefined) return begin(key, args)
    const shared = next.get(key) ?? present.catch(() => {}).then(() => begin(key, args))
    next.set(key, shared)
    return shared
  }
}
