/**
 * Concurrent requests for one value share one query, and none of them gets an older value than a query of its own
 * would have found: who asks while a query is under way shares the next one.
 */

/** Wraps `load`; `keyOf` names what is loaded. Nothing is kept once it was answered. */
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
