/**
 * Transactions of turns that share few connections.
 *
 * The pool `outbound` has many more places than its thread has connections, because its turns mostly wait for others. So the turns of
 * each of its actors take turns for the database.
 */
import { type Semaphore, withPermit } from '../platform/concurrency/semaphore.ts'
import type { LongTurn } from './types.ts'

/** The turn, whose transactions each wait for a permit. */
export function limitTransactions(turn: LongTurn, transactions: Semaphore): LongTurn {
  // A turn is an object of a class: spreading it would leave its accessors and methods behind.
  const { message, organization, signal, log } = turn
  return {
    message,
    organization,
    signal,
    log,
    read: (work) => withPermit(transactions, signal, () => turn.read(work)),
    step: (work) => withPermit(transactions, signal, () => turn.step(work)),
    finish: (work) => withPermit(transactions, signal, () => turn.finish(work)),
  }
}
