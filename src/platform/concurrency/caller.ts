/**
 * The organization of the request that is being handled, and the object that the request changes. What is shared in turns uses them
 * where nothing else names the caller.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

export interface Caller {
  readonly name: string
  /** What the request locks in the database. Requests with the same key open their transactions one after the other. */
  readonly key: string | undefined
  /** True inside of a transaction, which has its connection already. */
  readonly isInTransaction: boolean
}

const callers = new AsyncLocalStorage<Caller | undefined>()

/** Runs `work`, and all that it awaits, as work for the caller. */
export const asCaller = <T>(name: string, work: () => T, key?: string): T =>
  callers.run({ name, key, isInTransaction: false }, work)

/** For work that locks something else than the object that the request names. `key` contains the organization. */
export function lockingFirst<T>(key: string, work: () => T): T {
  const caller = callers.getStore()
  return caller === undefined ? work() : callers.run({ ...caller, key }, work)
}

/** For work that several callers share, whoever has started it. */
export const asService = <T>(work: () => T): T => callers.run(undefined, work)

export function inTransaction<T>(work: () => T): T {
  const caller = callers.getStore()
  return caller === undefined ? work() : callers.run({ ...caller, isInTransaction: true }, work)
}

/** @returns undefined for work that is not for a request */
export const currentCaller = (): Caller | undefined => callers.getStore()
