/** The organization of the request that is being handled. What is shared in turns uses it where nothing else names the caller. */
import { AsyncLocalStorage } from 'node:async_hooks'

const callers = new AsyncLocalStorage<string>()

/** Runs `work`, and all that it awaits, as work for the caller. */
export const asCaller = <T>(caller: string, work: () => T): T => callers.run(caller, work)

/** @returns undefined for work that is not for a request */
export const currentCaller = (): string | undefined => callers.getStore()
