/** SQL of the mail about a subscription that was disabled. */
import type { Tx } from '../../platform/db/pool.ts'

export interface Disabled {
  readonly organization: string
  /** Scheme and host: the rest may contain a secret. */
  readonly origin: string
  /** When its failures began. */
  readonly since: Date
}

/** @returns null if the subscription was deleted or enabled again */
export async function findDisabled(tx: Tx, organizationId: string, id: string): Promise<Disabled | null> {
  const [row] = await tx<Disabled[]>`
    select o.name as organization, substring(w.url from '^[a-z]+://[^/?#]+') as origin,
      coalesce(w.failing_since, w.disabled_at, now()) as since
    from webhook w
    join organization o on o.id = w.organization_id
    where w.organization_id = ${organizationId} and w.id = ${id} and not w.enabled`
  return row ?? null
}
