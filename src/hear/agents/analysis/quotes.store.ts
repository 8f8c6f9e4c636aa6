/** The SQL that looks, under the sessions' row locks, whether the messages that findings quote are still what was read. */
import type { Query } from '../../../platform/db/pool.ts'

/** A message that is quoted. */
export interface QuotedMessage {
  readonly sessionId: string
  readonly externalEventId: string
  /** Of the message when it was read. */
  readonly bodyHash: string
}

/** Where a quoted message stands now. */
export interface QuotePlace {
  readonly sessionId: string
  readonly externalEventId: string
  readonly sequence: number
  readonly revision: number
  readonly occurredAt: string
  readonly productArea: string | null
  readonly agentVersion: string | null
}

/** The messages that have not changed. A revision and an erasure change one. */
export async function readQuotePlaces(
  tx: Query,
  messages: readonly QuotedMessage[],
): Promise<ReadonlyMap<string, readonly QuotePlace[]>> {
  if (messages.length === 0) return new Map()
  const rows = await tx<QuotePlace[]>`
    select
      s.id as "sessionId", e.external_event_id as "externalEventId", e.sequence, e.revision,
      e.occurred_at::text as "occurredAt", s.context ->> 'productArea' as "productArea", s.agent_version as "agentVersion"
    from unnest(
      ${messages.map((message) => message.sessionId)}::text[]::uuid[],
      ${messages.map((message) => message.externalEventId)}::text[],
      ${messages.map((message) => message.bodyHash)}::text[]
    ) as q (session_id, id, hash)
    join agent_session s on s.id = q.session_id
    cross join lateral (
      select e.external_event_id, e.sequence, e.revision, e.occurred_at
      from agent_event e
      where e.organization_id = s.organization_id
        and e.session_id = s.id
        and e.external_event_id = q.id
        and md5(e.body::text) = q.hash
      limit 1
    ) e`
  return Map.groupBy(rows, (row) => row.sessionId)
}
