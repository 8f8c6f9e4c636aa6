/**
 * Transaction handles that can be revoked.
 *
 * After `revoke`, a guarded handle sends no statement, however late its code continues, and guarded work never settles. Otherwise a
 * late statement would run after ROLLBACK outside of a transaction, or on a connection that another caller uses by then.
 */
import type { Tx } from './pool.ts'

const NEVER = new Promise<never>(() => {})

/** `savepoint` of the driver: a name may come first, the callback comes last. */
type Savepoint = (...args: readonly unknown[]) => Promise<unknown>

/** Guards the handles of one transaction, and revokes all of them at once. */
export class Revocation {
  #revoked: { readonly reason: unknown } | null = null

  /** Every later use of a guarded handle throws `reason`. Further calls have no effect. */
  revoke(reason: unknown): void {
    this.#revoked ??= { reason }
  }

  /** A handle that works as `tx` until it is revoked. Savepoints opened through it are guarded as well. */
  guard(tx: Tx): Tx {
    return new Proxy(tx, {
      apply: (target, self, args) => {
        this.#check()
        return Reflect.apply(target, self, args)
      },
      get: (target, property) => {
        this.#check()
        const member: unknown = Reflect.get(target, property)
        return property === 'savepoint' ? this.#guardSavepoint(member as Savepoint) : member
      },
    })
  }

  /**
   * Runs `work` on a guarded handle, as the callback of the driver's `begin` or `savepoint`. After a revocation it never settles,
   * because the driver sends COMMIT or ROLLBACK when it settles.
   */
  async run<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      const value = await work(this.guard(tx))
      return this.#revoked ? await NEVER : value
    } catch (error) {
      if (this.#revoked) await NEVER
      throw error
    }
  }

  #check(): void {
    if (this.#revoked) throw this.#revoked.reason
  }

  #guardSavepoint(savepoint: Savepoint): Savepoint {
    return (...args) => {
      const work = args.at(-1) as (tx: Tx) => Promise<unknown>
      return savepoint(...args.slice(0, -1), (tx: Tx) => this.run(tx, work))
    }
  }
}
