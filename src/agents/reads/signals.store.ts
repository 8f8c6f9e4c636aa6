/** The SQL that reads signals. It checks the reader's access as `sessions.store.ts` does. */

import { type Scanned, scan } from '../../platform/db/bounded-scan.ts'
import { asMoment, type MomentSlice, type Slice } from '../../platform/db/keyset.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Period, Rating, SignalKind, SignalSource } from '../model.ts'
import { endOfScan, type Fragment, newest, type Reader, readable, within } from './visible.store.ts'

export interface SignalFilter {
  /** Bounds on the time of the signal's event. */
  readonly occurred: Period
  /** Bounds on the time at which the signal was stored. */
  readonly created: Period
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
  /** Null for explicit feedback, and for findings of older versions. */
  readonly confidence: number | null
  readonly evidence: { readonly quote: string; readonly messageId: string } | null
  readonly analyzer: { readonly name: string; readonly version: string } | null
  readonly externalEventId: string
  readonly targetEventExternalId: string | null
  readonly sequence: number
  readonly revision: number
  readonly participantExternalId: string | null
  readonly occurredAt: Date
  readonly createdAt: Date
  readonly createdMoment: string
  readonly occurredMoment: string
  readonly updatedAt: Date
}

/** Selects signals. `signals` is the table `agent_signal` or a query of its rows. */
const signalsOf = (sql: Query, signals: Fragment) => sql`
  select
    g.id,
    a.agent_key as "agentKey",
    s.id as "sessionId",
    s.external_session_id as "externalSessionId",
    g.source,
    g.kind,
    g.rating,
    g.labels,
    g.comment,
    round(g.confidence::numeric, 2)::float8 as confidence,
    case when g.analyzer_name is not null then
      json_build_object('quote', g.comment, 'messageId', g.external_event_id)
    end as evidence,
    case when g.analyzer_name is not null then
      json_build_object('name', g.analyzer_name, 'version', g.analyzer_version)
    end as analyzer,
    g.external_event_id as "externalEventId",
    g.target_event_external_id as "targetEventExternalId",
    g.sequence,
    g.revision,
    g.participant_external_id as "participantExternalId",
    g.occurred_at as "occurredAt",
    g.created_at as "createdAt",
    ${asMoment(sql, 'g.created_at')} as "createdMoment",
    ${asMoment(sql, 'g.occurred_at')} as "occurredMoment",
    g.updated_at as "updatedAt"
  from ${signals} g
  join agent_session s on s.id = g.session_id
  join agent_application a on a.id = g.application_id`

/** Conditions without an index. Only signals of conversations, and findings that are precise enough to be shown. */
function valueConditions(sql: Query, { source, rating, kind }: SignalFilter): Fragment {
  return sql`
    and g.shown and g.session_id is not null
    ${source === undefined ? sql`` : sql`and g.source = ${source}`}
    ${rating === undefined ? sql`` : sql`and g.rating = ${rating}`}
    ${kind === undefined ? sql`` : sql`and g.kind = ${kind}`}`
}

const isBounded = ({ since, until }: Period) => since !== undefined || until !== undefined

/** The order of a list of signals, newest first: by the time of the event where only that is bounded, otherwise by arrival. */
export function orderOfSignals({ occurred, created }: SignalFilter): 'createdMoment' | 'occurredMoment' {
  return isBounded(occurred) && !isBounded(created) ? 'occurredMoment' : 'createdMoment'
}

/** Signals in the order of `orderOfSignals`. */
export async function listSignals(
  sql: Query,
  reader: Reader,
  filter: SignalFilter,
  slice: MomentSlice,
): Promise<Scanned<SignalRow, string>> {
  const moments = orderOfSignals(filter)
  const order = moments === 'occurredMoment' ? 'occurred_at' : 'created_at'
  // The other period is a condition without an index, because all events of an organization may have the same time.
  const occurred = within(sql, 'g.occurred_at', filter.occurred)
  const created = within(sql, 'g.created_at', filter.created)
  const isBoth = order === 'created_at' && isBounded(filter.occurred)
  const values = valueConditions(sql, filter)
  const way = {
    table: 'agent_signal',
    alias: 'g',
    order,
    agentKey: filter.agentKey,
    bounds: order === 'occurred_at' ? occurred : created,
    conditions: isBoth ? sql`${values} ${occurred}` : values,
  } as const
  const page = () => sql<SignalRow[]>`
    ${signalsOf(sql, sql`(${newest(sql, reader, way, slice)})`)}
    order by ${sql(`g.${order}`)} desc, g.id desc
    limit ${slice.limit + 1}`
  return scan({
    limit: slice.limit,
    page,
    async end() {
      const end = await endOfScan(sql, reader, way, slice)
      return end && [end.moment, end.id]
    },
    placeOf: (row) => [row[moments], row.id],
  })
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
    ${signalsOf(sql, sql`agent_signal`)}
    where g.organization_id = ${reader.organizationId}
      and g.session_id = ${sessionId}
      and ${readable(sql, reader, 'g.application_id')}
      ${filter.agentKey === undefined ? sql`` : sql`and a.agent_key = ${filter.agentKey}`}
      ${valueConditions(sql, filter)}
      ${within(sql, 'g.occurred_at', filter.occurred)}
      ${within(sql, 'g.created_at', filter.created)}
      ${after === null ? sql`` : sql`and (g.sequence, g.id) > (${after[0]}, ${after[1]}::uuid)`}
    order by g.sequence, g.id
    limit ${limit + 1}`
}

/** The signal; undefined where it does not exist or the reader may not see it. */
export async function findSignal(
  sql: Query,
  reader: Reader,
  signalId: string,
): Promise<SignalRow | undefined> {
  const [row] = await sql<SignalRow[]>`
    ${signalsOf(sql, sql`agent_signal`)}
    where g.organization_id = ${reader.organizationId}
      and g.id = ${signalId}
      and g.shown
      and ${readable(sql, reader, 'g.application_id')}`
  return row
}
