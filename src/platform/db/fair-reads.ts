/**
 * A pool of connections for reads that organizations share fairly.
 *
 * Organizations take turns, and one never occupies all connections. So reads of one organization do not wait for many or long ones of
 * another. Reads that are not for a request go to the pool directly.
 */
import { currentCaller } from '../concurrency/caller.ts'
import { createFairQueue } from '../concurrency/fair-queue.ts'
import type { Query, Sql } from './pool.ts'

/** What the driver calls to send a statement, when its result is awaited. */
type Send = ((statement: Statement) => void) & { readonly debug?: unknown }

/** A statement as the driver makes it. A fragment of another statement is never sent. */
interface Statement {
  handler: Send
  resolve(result: unknown): void
  reject(error: unknown): void
}

export function shareFairly(pool: Sql, connections: number): Query {
  const places = createFairQueue({ places: connections })
  const wrapped = new WeakMap<Send, Send>()

  function inTurn(send: Send): Send {
    const known = wrapped.get(send)
    if (known !== undefined) return known
    const sendInTurn = (statement: Statement) => {
      const caller = currentCaller()
      if (caller === undefined) send(statement)
      else void places.run(caller, () => settled(statement, send))
    }
    const made = Object.assign(sendInTurn, { debug: send.debug })
    wrapped.set(send, made)
    return made
  }

  return new Proxy(pool, {
    apply(target, self, args: unknown[]) {
      const made: unknown = Reflect.apply(target, self, args)
      if (isStatement(made)) made.handler = inTurn(made.handler)
      return made
    },
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
