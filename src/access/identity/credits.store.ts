/** SQL of credits: the balance of an organization and the ledger of its changes. */
import { asMicroseconds, behind, type TimeSlice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'

interface CreditEntry {
  readonly id: string
  /** Units added, or taken if negative. */
  readonly amount: number
  readonly note: string | null
  readonly createdAt: Date
}

export type CreditEntryRow = CreditEntry & { readonly createdMicroseconds: number }

/** Newest first, with one row more than the limit. */
export function selectCreditEntries(sql: Query, organizationId: string, { after, limit }: TimeSlice) {
  return sql<CreditEntryRow[]>`
    select id, amount, note, created_at as "createdAt", ${asMicroseconds(sql, 'created_at')} as "createdMicroseconds"
    from credit_entry
    where organization_id = ${organizationId}
      ${behind(sql, 'created_at', 'id', after)}
    order by created_at desc, id desc
    limit ${limit + 1}`
}

/** @returns the balance; null: unlimited; undefined: no such organization */
export async function selectBalance(sql: Query, organizationId: string): Promise<number | null | undefined> {
  const [row] = await sql<{ balance: number | null }[]>`
    select response_credits as balance
    from organization
    where id = ${organizationId}`
  return row?.balance
}

/** Adds units and writes a ledger entry. Unlimited stays unlimited. @returns the balance; undefined: no such organization, or the balance would not be a safe integer */
export async function addCredits(
  tx: Query,
  entry: {
    readonly id: string
    readonly organizationId: string
    readonly amount: number
    readonly note: string | null
  },
): Promise<number | null | undefined> {
  const [row] = await tx<{ balance: number | null }[]>`
    with updated as (
      update organization
      set response_credits = response_credits + ${entry.amount}
      where id = ${entry.organizationId}
        and (response_credits is null or response_credits <= ${Number.MAX_SAFE_INTEGER} - ${entry.amount}::bigint)
      returning response_credits as balance
    ), entered as (
      insert into credit_entry (id, organization_id, amount, note)
      select ${entry.id}, ${entry.organizationId}, ${entry.amount}, ${entry.note}
      from updated
    )
    select balance from updated`
  return row?.balance
}

/**
 * Sets the balance; null: unlimited. The ledger entry is the difference, so that entries add up to the balance. The caller has locked the
 * organization in an earlier statement: one that locks a row and updates it, too, can end in a deadlock with others that wait for the row.
 */
export async function setCredits(
  tx: Query,
  entry: {
    readonly id: string
    readonly organizationId: string
    readonly balance: number | null
    readonly note: string | null
  },
): Promise<boolean> {
  const rows = await tx`
    with old as (
      select id, response_credits from organization where id = ${entry.organizationId}
    ), updated as (
      update organization set response_credits = ${entry.balance} where id = ${entry.organizationId}
    )
    insert into credit_entry (id, organization_id, amount, note)
    select ${entry.id}, old.id, coalesce(${entry.balance}::bigint, 0) - coalesce(old.response_credits, 0), ${entry.note}
    from old
    returning id`
  return rows.length > 0
}
