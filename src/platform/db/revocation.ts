/**
 * Transaction handles that can be taken back.
 *
 * The rule: after `revoke` no statement leaves through a guarded handle, however late the code that holds it wakes
 * up, and guarded work never settles. Otherwise a late statement would run by itself, after ROLLBACK, or on a
 * connection that belongs to somebody else by now.
 */
import type { Tx } from './pool.ts'

const NEVER = new Promise<never>(() => {})

/** `savepoint` of the driver: a name may come first, the callback comes last. */
type Savepoint = (...args: readonly unknown[]) => Promise<unknown>

export class Revocation {
  #revoked: { readonly reason: unknown } | null = null

  /** Every later use of a guarded handle throws `reason`; only the first call counts. */
  revoke(reason: unknown): void {
    this.#revoked ??= { reason }
  }

  /** `tx`, until revoked; savepoints opened through it are guarded as well. */
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
   * Runs `work` on a guarded handle, as the callback of the driver's `begin` or `savepoint`. Once revoked it never
   * settles: settling is what makes the driver send COMMIT or ROLLBACK.
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
