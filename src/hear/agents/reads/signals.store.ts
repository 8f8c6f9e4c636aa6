/**
 * The SQL that reads signals of every channel.
 *
 * Every statement checks the reader's access to each row before its limit: conversations as `sessions.store.ts` does, recordings by the
 * condition of their list. Everybody in the organization may see feedback.
 */

import type { StoredFinding } from '../../../analysis/findings/verdicts.ts'
import type { Channel } from '../../../kernel/channel.ts'
import { type Scanned, scan, wholly } from '../../../platform/db/bounded-scan.ts'
import { asMoment, behind, type MomentSlice, type Slice } from '../../../platform/db/keyset.ts'
import type { Query } from '../../../platform/db/pool.ts'
import type { SignalRow } from './signal.ts'
import { isBounded, kindsMeant, orderOfSignals, type SignalFilter } from './signals.rules.ts'
import {
  eachApplication,
  endOfScan,
  type Fragment,
  newest,
  type Reader,
  readable,
  readableApplications,
  type Source,
  within,
} from './visible.store.ts'

/** What the reader may see. */
export interface SignalAccess {
  readonly reader: Reader
  /** Condition on the recording `r`. It names the organization. */
  readonly visibleRecording: Fragment
}

/**
 * Selects signals. `signals` is the table `agent_signal` or a query of its rows. The function `webhook_signal` (migration 0057) writes
 * the same members.
 */
const signalsOf = (sql: Query, signals: Fragment) => sql`
  select
    g.id,
    g.channel,
    a.agent_key as "agentKey",
    g.session_id as "sessionId",
    s.external_session_id as "externalSessionId",
    g.feedback_record_id as "recordId",
    f.feedback_source_id as "feedbackSourceId",
    g.recording_id as "recordingId",
    g.source,
    g.kind,
    g.rating,
    g.labels,
    g.comment,
    round(g.confidence::numeric, 2)::float8 as confidence,
    case when g.analyzer_name is not null then
      jsonb_strip_nulls(jsonb_build_object(
        'quote', g.comment, 'messageId', g.external_event_id, 'recordId', g.feedback_record_id, 'field', g.field,
        'recordingId', g.recording_id, 'startSec', g.start_sec
      ))
    end as evidence,
    case when g.analyzer_name is not null then
      json_build_object('name', g.analyzer_name, 'version', g.analyzer_version)
    end as analyzer,
    g.external_event_id as "externalEventId",
    g.target_event_external_id as "targetEventExternalId",
    g.sequence,
    g.revision,
    g.participant_external_id as "participantExternalId",
    coalesce(g.product_area, s.context ->> 'productArea') as "productArea",
    coalesce(g.agent_version, s.agent_version) as "agentVersion",
    w.public_id as "personId",
    g.occurred_at as "occurredAt",
    g.created_at as "createdAt",
    ${asMoment(sql, 'g.created_at')} as "createdMoment",
    ${asMoment(sql, 'g.occurred_at')} as "occurredMoment",
    g.updated_at as "updatedAt"
  from ${signals} g
  left join agent_session s on s.id = g.session_id
  left join agent_application a on a.id = g.application_id
  left join feedback_record f on f.id = g.feedback_record_id
  left join person w on w.id = g.person_id`

/** Signals that are shown, or findings that are not. */
const isListed = (sql: Query, { shown = true }: SignalFilter) => (shown ? sql`g.shown` : sql`not g.shown`)

/** The conditions on values. Only that on `shown` has an index. */
function valueConditions(sql: Query, organizationId: string, filter: SignalFilter): Fragment {
  const { source, rating, kind, channel, productArea, agentVersion, personId, recordId, recordingId } = filter
  // Signals of older versions have the area and the version of their session.
  const ofSession = (own: string, session: Fragment, value: string) => sql`
    and coalesce(${sql(`g.${own}`)}, (select ${session} from agent_session s where s.id = g.session_id)) = ${value}`
  return sql`
    and ${isListed(sql, filter)}
    ${source === undefined ? sql`` : sql`and g.source = ${source}`}
    ${rating === undefined ? sql`` : sql`and g.rating is not distinct from ${rating === 'none' ? null : rating}`}
    ${kind === undefined ? sql`` : sql`and g.kind = any(${kindsMeant(kind) as string[]}::text[])`}
    ${channel === undefined ? sql`` : sql`and g.channel = ${channel}`}
    ${productArea === undefined ? sql`` : ofSession('product_area', sql`s.context ->> 'productArea'`, productArea)}
    ${agentVersion === undefined ? sql`` : ofSession('agent_version', sql`s.agent_version`, agentVersion)}
    ${personId === undefined ? sql`` : sql`and g.person_id = any(array(${idsOfPerson(sql, organizationId, personId)}))`}
    ${recordId === undefined ? sql`` : sql`and g.feedback_record_id = ${recordId}::bigint`}
    ${recordingId === undefined ? sql`` : sql`and g.recording_id = ${recordingId}::uuid`}`
}

/** The ids of a person of whom an id or a UUID is given: the person's own, and those of merged people that are still moved. */
function idsOfPerson(sql: Query, organizationId: string, given: string): Fragment {
  const [id, former, value] = /^\d+$/.test(given)
    ? [sql`id`, sql`former_id`, sql`${Number(given)}::bigint`]
    : [sql`public_id`, sql`former_public_id`, sql`${given}::uuid`]
  return sql`
    select distinct own.id
    from (
      select who.id
      from person who
      where who.organization_id = ${organizationId} and who.${id} = ${value}
      union
      select alias.person_id
      from person_alias alias
      where alias.organization_id = ${organizationId} and alias.${former} = ${value}
    ) kept
    cross join lateral (
      select kept.id
      union all
      select moving.id from person moving where moving.merged_into = kept.id
    ) own`
}

/** A look-up by key for each row. PostgreSQL answers an `exists` by reading all recordings first, because it does not see the limit. */
const seesRecording = (sql: Query, visibleRecording: Fragment) => sql`
  (select ${visibleRecording} from recording r where r.id = g.recording_id)`

/** The reader may see the row. */
const seen = (sql: Query, { reader, visibleRecording }: SignalAccess, agentKey: string | undefined) => sql`
  and g.organization_id = ${reader.organizationId}
  and (g.session_id is null or ${readable(sql, reader, 'g.application_id')})
  and (g.recording_id is null or ${seesRecording(sql, visibleRecording)})
  ${agentKey === undefined ? sql`` : sql`and g.application_id = any(array(${readableApplications(sql, reader, agentKey)}))`}`

/** The lists whose newest rows, merged, are the answer. */
function sourcesOf(sql: Query, access: SignalAccess, filter: SignalFilter): readonly Source[] {
  const { reader } = access
  const { channel, agentKey, personId, shown: isShown = true } = filter
  if (personId !== undefined)
    return [
      {
        each: idsOfPerson(sql, reader.organizationId, personId),
        owner: sql`g.person_id = source.id and ${isListed(sql, filter)}`,
        conditions: seen(sql, access, agentKey),
      },
    ]
  const whole = {
    each: null,
    owner: sql`g.organization_id = ${reader.organizationId} and ${isListed(sql, filter)}`,
    conditions: seen(sql, access, agentKey),
  }
  if (!isShown) return [whole]
  const shown = (source: Source): Source => ({ ...source, owner: sql`${source.owner} and g.shown` })
  const conversations = shown(eachApplication(sql, reader, 'g', agentKey))
  if (agentKey !== undefined || channel === 'conversation') return [conversations]
  if (channel === undefined && reader.userId === null) return [whole]
  const of = (one: Channel): Source => ({
    each: null,
    owner: sql`
      g.organization_id = ${reader.organizationId} and g.channel = ${one} and g.session_id is null and g.shown`,
  })
  const feedback = of('feedback')
  const recordings = {
    ...of('recording'),
    conditions: sql`and ${seesRecording(sql, access.visibleRecording)}`,
  }
  if (channel === undefined) return [conversations, feedback, recordings]
  return [channel === 'feedback' ? feedback : recordings]
}

/** Signals in the order of `orderOfSignals`. */
export async function listSignals(
  sql: Query,
  access: SignalAccess,
  filter: SignalFilter,
  slice: MomentSlice,
): Promise<Scanned<SignalRow, string>> {
  const moments = orderOfSignals(filter)
  const order = moments === 'occurredMoment' ? 'occurred_at' : 'created_at'
  // The other period is a condition without an index, because all events of an organization may have the same time.
  const occurred = within(sql, 'g.occurred_at', filter.occurred)
  const created = within(sql, 'g.created_at', filter.created)
  const other = order === 'created_at' ? filter.occurred : filter.created
  const values = valueConditions(sql, access.reader.organizationId, filter)
  const way = {
    table: 'agent_signal',
    alias: 'g',
    order,
    bounds: order === 'occurred_at' ? occurred : created,
    conditions: isBounded(other) ? sql`${values} ${order === 'occurred_at' ? created : occurred}` : values,
  } as const
  const page = (rows: Fragment) => sql<SignalRow[]>`
    ${signalsOf(sql, sql`(${rows})`)}
    order by ${sql(`g.${order}`)} desc, g.id desc
    limit ${slice.limit + 1}`
  const { recordId, recordingId, agentKey } = filter
  if (recordId !== undefined || recordingId !== undefined)
    return wholly(
      await page(sql`
        select g.*
        from (${ofSubject(sql, recordId, recordingId)}) as g
        where true
          ${seen(sql, access, agentKey)}
          ${way.conditions}
          ${way.bounds}
          ${behind(sql, `g.${order}`, 'g.id', slice.after)}`),
    )
  const sources = sourcesOf(sql, access, filter)
  return scan({
    limit: slice.limit,
    page: () => page(newest(sql, sources, way, slice)),
    async end() {
      const end = await endOfScan(sql, sources, way, slice)
      return end && [end.moment, end.id]
    },
    placeOf: (row) => [row[moments], row.id],
  })
}

/** A record or a recording has one finding of each kind. */
const MOST_OF_SUBJECT = 100

/** The limit keeps PostgreSQL from reading the organization's signals in their order instead. */
const ofSubject = (sql: Query, recordId: number | undefined, recordingId: string | undefined) => sql`
  select *
  from agent_signal
  where ${recordId === undefined ? sql`recording_id = ${recordingId ?? null}::uuid` : sql`feedback_record_id = ${recordId}::bigint`}
  limit ${MOST_OF_SUBJECT}`

/** The signals of one session, in the order of its events. */
export function listSignalsOfSession(
  sql: Query,
  { reader }: SignalAccess,
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
      ${valueConditions(sql, reader.organizationId, filter)}
      ${within(sql, 'g.occurred_at', filter.occurred)}
      ${within(sql, 'g.created_at', filter.created)}
      ${after === null ? sql`` : sql`and (g.sequence, g.id) > (${after[0]}, ${after[1]}::uuid)`}
    order by g.sequence, g.id
    limit ${limit + 1}`
}

/** The signal; undefined where it does not exist or the reader may not see it. */
export async function findSignal(
  sql: Query,
  access: SignalAccess,
  signalId: string,
): Promise<SignalRow | undefined> {
  const [row] = await sql<SignalRow[]>`
    ${signalsOf(sql, sql`agent_signal`)}
    where g.organization_id = ${access.reader.organizationId}
      and g.id = ${signalId}
      and g.shown
      ${seen(sql, access, undefined)}`
  return row
}

/** A finding, shown or hidden, for a correction of it. */
export async function findFinding(
  sql: Query,
  access: SignalAccess,
  signalId: string,
): Promise<StoredFinding | undefined> {
  const [row] = await sql<StoredFinding[]>`
    select g.id, g.channel, g.session_id as "sessionId", g.feedback_record_id as "recordId", g.recording_id as "recordingId", g.kind,
      g.found_kind as "foundKind", g.tier, g.language,
      case when g.analyzer_name is not null then
        json_build_object('name', g.analyzer_name, 'version', g.analyzer_version)
      end as analyzer
    from agent_signal g
    where g.organization_id = ${access.reader.organizationId}
      and g.id = ${signalId}
      ${seen(sql, access, undefined)}`
  return row
}
