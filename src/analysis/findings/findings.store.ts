/**
 * The SQL that reads and writes subjects and their findings, of every channel. The caller holds the row lock of what was analysed: the
 * session, the feedback record or the recording. So writes about one subject follow each other, and one that was deleted meanwhile
 * gets nothing. Every statement takes any number of subjects, of any organizations.
 */

import type { Channel } from '../../kernel/channel.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { OutcomeBasis } from './basis.rules.ts'
import type { Version } from './finding.rules.ts'
import type { Kept, Present, Verdict } from './reconcile.rules.ts'

/** Where each channel keeps what is analysed, and the column that names it in the tables of findings. */
const CHANNELS = {
  conversation: { table: 'agent_session', type: 'uuid', column: 'session_id' },
  feedback: { table: 'feedback_record', type: 'bigint', column: 'feedback_record_id' },
  recording: { table: 'recording', type: 'uuid', column: 'recording_id' },
} as const

const idsOf = (tx: Query, channel: Channel, ids: readonly string[]) =>
  CHANNELS[channel].type === 'uuid'
    ? tx`${ids as string[]}::text[]::uuid[]`
    : tx`${ids as string[]}::text[]::bigint[]`

/** Locks records or recordings until the transaction ends. @returns the ids of those that exist */
export async function lockSources(
  tx: Tx,
  channel: 'feedback' | 'recording',
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ id: string }[]>`
    select s.id::text as id
    from ${tx(CHANNELS[channel].table)} s
    where s.id = any(${idsOf(tx, channel, ids)})
    order by s.id
    for no key update`
  return new Set(rows.map(({ id }) => id))
}

/** What is stored of a subject. */
export interface Stored {
  /** Null: it was never analysed. */
  readonly subjectId: string | null
  /** 0: it was never analysed. */
  readonly sourceVersion: number
  readonly verdicts: readonly Verdict[]
  readonly findings: readonly Present[]
}

/**
 * By the id of the session, feedback record or recording. Those that were deleted are missing.
 *
 * Organizations are compared by `is not distinct from`, which no index serves. With `=` a plan that was made while the tables were
 * empty reads everything of the organization for each id.
 */
export async function readStored(
  tx: Query,
  channel: Channel,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Stored>> {
  const { table, column } = CHANNELS[channel]
  const rows = await tx<(Stored & { readonly id: string })[]>`
    select
      s.id::text as id, i.id as "subjectId", coalesce(i.source_version, 0) as "sourceVersion",
      v.verdicts, f.findings
    from ${tx(table)} s
    left join insight_subject i
      on i.${tx(column)} = s.id and i.organization_id is not distinct from s.organization_id
    cross join lateral (
      select coalesce(
        jsonb_agg(jsonb_build_object('kind', v.kind, 'wasRight', v.was_right, 'meantKind', v.meant_kind)), '[]'
      ) as verdicts
      from finding_verdict v
      where v.subject_id = i.id and v.organization_id is not distinct from i.organization_id
    ) v
    cross join lateral (
      select coalesce(
        jsonb_agg(jsonb_build_object('id', g.id, 'kind', g.kind, 'tier', g.tier)), '[]'
      ) as findings
      from agent_signal g
      where g.${tx(column)} = s.id
        and g.organization_id is not distinct from s.organization_id
        and g.source = 'qualitative_inference'
    ) f
    where s.id = any(${idsOf(tx, channel, ids)})`
  return new Map(rows.map(({ id, ...stored }) => [id, stored]))
}

export interface SubjectRow {
  readonly id: string
  readonly organizationId: string
  readonly channel: Channel
  readonly sourceId: string
  readonly applicationId: string | null
  readonly occurredAt: string
  readonly language: string | null
  readonly state: 'pending' | 'analyzed' | 'failed' | 'not_supported' | 'no_words'
  readonly outcome: string | null
  readonly outcomeBasis: OutcomeBasis | null
  readonly sentiment: string | null
  readonly analyzerName: string
  readonly analyzerVersion: string
  readonly sourceVersion: number
}

/** The columns of the session, the feedback record and the recording. */
const sourceOf = (tx: Query) => tx`
  case when r.channel = 'conversation' then r."sourceId"::uuid end,
  case when r.channel = 'feedback' then r."sourceId"::bigint end,
  case when r.channel = 'recording' then r."sourceId"::uuid end`

/** Inserts subjects, or writes those with the same ids. */
export async function saveSubjects(tx: Query, rows: readonly SubjectRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    insert into insight_subject (
      id, organization_id, channel, session_id, feedback_record_id, recording_id, application_id, occurred_at, language, state,
      outcome, outcome_basis, sentiment, analyzer_name, analyzer_version, source_version
    )
    select
      r.id, r."organizationId", r.channel, ${sourceOf(tx)}, r."applicationId",
      r."occurredAt", r.language, r.state, r.outcome, r."outcomeBasis", r.sentiment, r."analyzerName", r."analyzerVersion",
      r."sourceVersion"
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, channel text, "sourceId" text, "applicationId" uuid, "occurredAt" timestamptz,
      language text, state text, outcome text, "outcomeBasis" text, sentiment text, "analyzerName" text, "analyzerVersion" text, "sourceVersion" int
    )
    on conflict (id) do update set
      occurred_at = excluded.occurred_at,
      language = excluded.language,
      state = excluded.state,
      outcome = excluded.outcome,
      outcome_basis = excluded.outcome_basis,
      sentiment = excluded.sentiment,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      source_version = excluded.source_version,
      updated_at = now()`
}

/** The analyser has given up. The subject keeps what it has, and is not analysed again before there is another analyser. */
export async function markRead(
  tx: Query,
  channel: Channel,
  id: string,
  { name, version }: Version,
): Promise<void> {
  const { table, column } = CHANNELS[channel]
  await tx`
    update insight_subject i
    set state = case when i.state = 'pending' then 'failed' else i.state end,
      analyzer_name = ${name}, analyzer_version = ${version}, updated_at = now()
    from ${tx(table)} s
    where s.id = any(${idsOf(tx, channel, [id])}) and i.organization_id = s.organization_id and i.${tx(column)} = s.id`
}

export async function deleteFindings(
  tx: Query,
  organizations: readonly string[],
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await tx`
    delete from agent_signal
    where organization_id = any(${organizations as string[]}::text[]::uuid[]) and id = any(${ids as string[]}::text[]::uuid[])`
}

export interface FindingRow extends Omit<Kept, 'id'> {
  readonly id: string
  readonly organizationId: string
  readonly channel: Channel
  readonly sourceId: string
  readonly applicationId: string | null
  readonly language: string | null
  readonly analyzerName: string
  readonly analyzerVersion: string
}

/** Inserts findings, or writes those with the same ids. A row that is the same already stays untouched. */
export async function saveFindings(tx: Query, rows: readonly FindingRow[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    insert into agent_signal as g (
      id, organization_id, channel, session_id, feedback_record_id, recording_id, application_id, source, kind, rating, labels,
      comment, occurred_at, person_id, confidence, tier, field, start_sec, external_event_id, target_event_external_id,
      participant_external_id, sequence, revision, product_area, agent_version, analyzer_name, analyzer_version, language, shown
    )
    select
      r.id, r."organizationId", r.channel, ${sourceOf(tx)}, r."applicationId", 'qualitative_inference', r.kind,
      r.rating, '[]', r.comment, r."occurredAt", r."personId", r.confidence, r.tier, r.field, r."startSec", r."externalEventId",
      r."targetEventExternalId", r."participantExternalId", r.sequence, r.revision, r."productArea", r."agentVersion",
      r."analyzerName", r."analyzerVersion", r.language, r.shown
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, channel text, "sourceId" text, "applicationId" uuid, kind text, rating text, comment text,
      "occurredAt" timestamptz, "personId" bigint, confidence real, tier text, field text, "startSec" double precision,
      "externalEventId" text, "targetEventExternalId" text, "participantExternalId" text, sequence bigint, revision bigint,
      "productArea" text, "agentVersion" text, "analyzerName" text, "analyzerVersion" text, language text, shown boolean
    )
    on conflict (id) do update set
      rating = excluded.rating,
      comment = excluded.comment,
      occurred_at = excluded.occurred_at,
      person_id = excluded.person_id,
      confidence = excluded.confidence,
      tier = excluded.tier,
      field = excluded.field,
      start_sec = excluded.start_sec,
      external_event_id = excluded.external_event_id,
      target_event_external_id = excluded.target_event_external_id,
      participant_external_id = excluded.participant_external_id,
      sequence = excluded.sequence,
      revision = excluded.revision,
      product_area = excluded.product_area,
      agent_version = excluded.agent_version,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      language = excluded.language,
      shown = excluded.shown,
      updated_at = now()
    where (
      g.rating, g.comment, g.occurred_at, g.person_id, g.confidence, g.tier, g.field, g.start_sec, g.external_event_id,
      g.target_event_external_id, g.participant_external_id, g.sequence, g.revision, g.product_area, g.agent_version,
      g.analyzer_name, g.analyzer_version, g.language, g.shown
    ) is distinct from (
      excluded.rating, excluded.comment, excluded.occurred_at, excluded.person_id, excluded.confidence, excluded.tier,
      excluded.field, excluded.start_sec, excluded.external_event_id, excluded.target_event_external_id,
      excluded.participant_external_id, excluded.sequence, excluded.revision, excluded.product_area,
      excluded.agent_version, excluded.analyzer_name, excluded.analyzer_version, excluded.language, excluded.shown
    )`
}

/** Makes running analyses of a recording outdated. */
export async function outdate(tx: Query, organizationId: string, recordingId: string): Promise<void> {
  await tx`
    update insight_subject
    set source_version = source_version + 1, state = 'pending', updated_at = now()
    where organization_id = ${organizationId} and recording_id = ${recordingId}`
}

export async function deleteFindingsOf(
  tx: Query,
  organizationId: string,
  recordingId: string,
): Promise<void> {
  await tx`
    delete from agent_signal
    where organization_id = ${organizationId} and recording_id = ${recordingId} and source = 'qualitative_inference'`
}
