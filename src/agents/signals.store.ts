/** Reading signals. The rule about readers is that of `conversations.store.ts`. */
import { asMicroseconds, fromMicroseconds, type Slice, type TimeSlice } from '../platform/db/keyset.ts'
import type { Query } from '../platform/db/pool.ts'
import type { Period, SignalKind, SignalSource } from './conversations.model.ts'
import { type Reader, readable, within } from './conversations.store.ts'
import type { Rating } from './model.ts'

export interface SignalFilter extends Period {
  readonly source?: SignalSource | undefined
  readonly rating?: Rating | undefined
  readonly kind?: SignalKind | undefined
  readonly agentKey?: string | undefined
}

export interface SignalRow {
  readonly id: string
  readonly agentKey: string
  readonly sessionId: string
  readonly externalSessionId: string
  readonly source: SignalSource
  readonly kind: SignalKind
  readonly rating: Rating | null
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly externalEventId: string
  readonly targetEventExternalId: string | null
  readonly sequence: number
  readonly revision: number
  readonly participantExternalId: string | null
  readonly occurredAt: Date
  readonly createdAt: Date
  readonly createdMicroseconds: number
  readonly updatedAt: Date
}

const visibleSignals = (sql: Query, reader: Reader) => sql`
  select
    g.id,
    a.agent_key as "agentKey",
    g.session_id as "sessionId",
    s.external_session_id as "externalSessionId",
    g.source,
    g.kind,
    g.rating,
    g.labels,
    g.comment,
    g.external_event_id as "externalEventId",
    g.target_event_external_id as "targetEventExternalId",
    g.sequence,
    g.revision,
    g.participant_external_id as "participantExternalId",
    g.occurred_at as "occurredAt",
    g.created_at as "createdAt",
    ${asMicroseconds(sql, 'g.created_at')} as "createdMicroseconds",
    g.updated_at as "updatedAt"
  from agent_signal g
  join agent_session s on s.id = g.session_id
  join agent_application a on a.id = g.application_id
  where g.organization_id = ${reader.organizationId}
    and ${readable(sql, reader)}`

function matching(sql: Query, filter: SignalFilter) {
  const { source, rating, kind, agentKey } = filter
  return sql`
    ${source === undefined ? sql`` : sql`and g.source = ${source}`}
    ${rating === undefined ? sql`` : sql`and g.rating = ${rating}`}
    ${kind === undefined ? sql`` : sql`and g.kind = ${kind}`}
    ${agentKey === undefined ? sql`` : sql`and a.agent_key = ${agentKey}`}
    ${within(sql, 'g.created_at', filter)}`
}

/** Newest first. */
export function listSignals(sql: Query, reader: Reader, filter: SignalFilter, { after, limit }: TimeSlice) {
  return sql<SignalRow[]>`
    ${visibleSignals(sql, reader)}
      ${matching(sql, filter)}
      ${after === null ? sql`` : sql`and (g.created_at, g.id) < (${fromMicroseconds(sql, after[0])}, ${after[1]}::uuid)`}
    order by g.created_at desc, g.id desc
    limit ${limit + 1}`
}

/** The signals of one session, in the order of its events. */
export function listSignalsOfSession(
  sql: Query,
  reader: Reader,
  sessionId: string,
  filter: SignalFilter,
  { after, limit }: Slice<readonly [sequence: number, id: string]>,
) {
  return sql<SignalRow[]>`
    ${visibleSignals(sql, reader)}
      and g.session_id = ${sessionId}
      ${matching(sql, filter)}
      ${after === null ? sql`` : sql`and (g.sequence, g.id) > (${after[0]}, ${after[1]}::uuid)`}
    order by g.sequence, g.id
    limit ${limit + 1}`
}

/** The signal, or undefined where there is none that the reader may see. */
export async function findSignal(
  sql: Query,
  reader: Reader,
  signalId: string,
): Promise<SignalRow | undefined> {
  const [row] = await sql<SignalRow[]>`
    ${visibleSignals(sql, reader)}
      and g.id = ${signalId}`
  return row
}
