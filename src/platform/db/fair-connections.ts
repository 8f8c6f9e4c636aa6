/**
 * A pool of connections that organizations share fairly.
 *
 * Organizations take turns, and one never occupies all connections. So statements and transactions of one organization do not wait for
 * many or long ones of another, or for those that wait for a lock. Transactions of requests that change the same object wait for each
 * other in this process before they take a connection. What is not for a request goes to the pool directly.
 */
import { type Caller, currentCaller, inTransaction } from '../concurrency/caller.ts'
import { createFairQueue, type FairQueueOptions } from '../concurrency/fair-queue.ts'
import type { Sql } from './pool.ts'

/** What the driver calls to send a statement, when its result is awaited. */
type Send = ((statement: Statement) => void) & { readonly debug?: unknown }

/** A statement as the driver makes it. A fragment of another statement is never sent. */
interface Statement {
  handler: Send
  resolve(result: unknown): void
  reject(error: unknown): void
}

/** `begin` of the driver. */
type Begin = (...args: readonly unknown[]) => Promise<unknown>

export interface FairConnectionsOptions extends FairQueueOptions {
  /** Whether requests that change the same object wait for each other. */
  readonly byKey?: boolean
}

/** The pool has as many connections as `places`. */
export function shareFairly(pool: Sql, { byKey = false, ...options }: FairConnectionsOptions): Sql {
  const queue = createFairQueue(options)
  const wrapped = new WeakMap<Send, Send>()

  /** Null if the work does not wait for a turn. */
  function callerInTurn(): Caller | null {
    const caller = currentCaller()
    return caller === undefined || caller.isInTransaction ? null : caller
  }

  const run = <T>({ name, key }: Caller, work: () => Promise<T>) =>
    queue.run(name, work, { key: byKey ? key : undefined })

  function inTurn(send: Send): Send {
    const known = wrapped.get(send)
    if (known !== undefined) return known
    const sendInTurn = (statement: Statement) => {
      const caller = callerInTurn()
      if (caller === null) send(statement)
      else run(caller, () => settled(statement, send)).catch((refusal) => statement.reject(refusal))
    }
    const made = Object.assign(sendInTurn, { debug: send.debug })
    wrapped.set(send, made)
    return made
  }

  function beginInTurn(...args: readonly unknown[]): Promise<unknown> {
    const begin = () => inTransaction(() => (pool.begin as Begin)(...args))
    const caller = callerInTurn()
    return caller === null ? begin() : run(caller, begin)
  }

  return new Proxy(pool, {
    apply(target, self, args: unknown[]) {
      const made: unknown = Reflect.apply(target, self, args)
      if (isStatement(made)) made.handler = inTurn(made.handler)
      return made
    },
    get: (target, property) => (property === 'begin' ? beginInTurn : Reflect.get(target, property)),
  })
}

const isStatement = (made: unknown): made is Statement => made instanceof Promise && 'handler' in made

/** Sends the statement. Resolves when its result has arrived. */
function settled(statement: Statement, send: Send): Promise<void> {
  return new Promise((done) => {
    const { resolve, reject } = statement
    statement.resolve = (result) => {
      resolve(result)
      done()
    }
    statement.reject = (error) => {
      reject(error)
      done()
    }
    send(statement)
  })
}
