/** Use cases of credits: the quota of `agent_response_processed` units. A higher balance wakes sessions that wait for it. */

import { type Outbox, transactionWithOutbox } from '../../actors/mailbox.ts'
import type { Notifier } from '../../actors/types.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { TimeSlice } from '../../platform/db/keyset.ts'
import type { Query, Sql } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import type { NewId } from '../../platform/ids.ts'
import { invalid } from '../../platform/validation/json.ts'
import * as store from './credits.store.ts'
import { lockOrganization } from './organizations.ts'

/** The balance after a change; null: unlimited. */
export interface Balance {
  readonly balance: number | null
}

export interface Credits {
  /** @returns the balance; null: unlimited. @throws AppError 404 */
  creditBalance(organizationId: string): Promise<number | null>
  /** Newest first, with one row more than the limit. */
  listCreditEntries(organizationId: string, slice: TimeSlice): Promise<readonly store.CreditEntryRow[]>
  /** Adds units and wakes sessions that wait for credits. @returns the balance; null: unlimited. @throws AppError 400, 404 */
  addCredits(
    organizationId: string,
    units: number,
    note?: string | null,
    also?: Alongside<Balance>,
  ): Promise<number | null>
  /** Sets the balance, null for unlimited, and wakes sessions that wait for credits. @throws AppError 400, 404 */
  setCredits(
    organizationId: string,
    units: number | null,
    note?: string | null,
    also?: Alongside<Balance>,
  ): Promise<void>
}

export interface CreditsDeps {
  /** Wakes what waits for credits, in the transaction that adds them, behind the lock of the organization. */
  readonly wakeBlocked: (tx: Query, outbox: Outbox, organizationId: string) => Promise<void>
  readonly sql: Sql
  readonly notifier: Notifier
  readonly newId: NewId
}

export function createCredits(deps: CreditsDeps): Credits {
  /**
   * Locks the organization's row, runs `change`, and then wakes blocked sessions. Metering locks the same row before
   * it blocks a response. So metering either sees the new balance, or its blocked response is found here.
   */
  const changeAndWake = (
    organizationId: string,
    change: (tx: Query) => Promise<Balance>,
    also: Alongside<Balance> | undefined,
  ) =>
    transactionWithOutbox(deps, async (tx, outbox) => {
      await lockOrganization(tx, organizationId)
      const result = await change(tx)
      await deps.wakeBlocked(tx, outbox, organizationId)
      await also?.(tx, result)
      return result.balance
    })
  return {
    async creditBalance(organizationId) {
      const balance = await store.selectBalance(deps.sql, organizationId)
      return balance === undefined ? noOrganization() : balance
    },
    listCreditEntries: (organizationId, slice) => store.selectCreditEntries(deps.sql, organizationId, slice),
    async addCredits(organizationId, units, note, also) {
      if (!Number.isSafeInteger(units) || units <= 0)
        throw new AppError('validation_failed', 'Credits are added as a whole number from 1.')
      const entry = { id: deps.newId(), organizationId, amount: units, note: note ?? null }
      const change = async (tx: Query) => {
        const balance = await store.addCredits(tx, entry)
        if (balance !== undefined) return { balance }
        return (await store.selectBalance(tx, organizationId)) === undefined ? noOrganization() : tooMany()
      }
      return changeAndWake(organizationId, change, also)
    },
    async setCredits(organizationId, units, note, also) {
      if (units !== null && (!Number.isSafeInteger(units) || units < 0))
        throw new AppError('validation_failed', 'A balance is a whole number from 0, or unlimited.')
      const entry = { id: deps.newId(), organizationId, balance: units, note: note ?? null }
      const change = async (tx: Query) => {
        if (!(await store.setCredits(tx, entry))) noOrganization()
        return { balance: units }
      }
      await changeAndWake(organizationId, change, also)
    },
  }
}

function tooMany(): never {
  const message = `must not lift the balance above ${Number.MAX_SAFE_INTEGER}`
  throw invalid([{ path: 'units', code: 'range', message }])
}

function noOrganization(): never {
  throw new AppError('not_found', 'There is no organization.')
}
