/**
 * The SQL that writes subjects and their findings. Every write locks what was analysed first: the session, the feedback record or the
 * recording. So writes about one subject follow each other, and one that was deleted meanwhile gets nothing.
 */
import type { Tier } from '../analyze/insight.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import type { FindingRow, Present, Verdict } from './reconcile.rules.ts'
import type { Source } from './source.ts'

type Channel = Source['channel']

/** Locks them until the transaction ends. @returns those that exist */
export function lockRecords(tx: Tx, ids: readonly string[]) {
  return tx<Scope[]>`
    select id::text as id, organization_id as "organizationId"
    from feedback_record
    where id = any(${ids as string[]}::text[]::bigint[])
    order by feedback_record.id
    for no key update`
}

/** Locks them until the transaction ends. @returns those that exist */
export function lockRecordings(tx: Tx, ids: readonly string[]) {
  return tx<Scope[]>`
    select id::text as id, organization_id as "organizationId"
    from recording
    where id = any(${ids as string[]}::text[]::uuid[])
    order by recording.id
    for no key update`
}

const COLUMNS = {
  conversation: 'session_id',
  feedback: 'feedback_record_id',
  recording: 'recording_id',
} as const

/** A subject as it is stored. */
export interface SubjectRow {
  readonly subjectId: string
  readonly id: string
  readonly sourceVersion: number
  readonly verdicts: readonly Verdict[]
}

export interface Scope {
  readonly id: string
  readonly organizationId: string
}

const given = (tx: Query, scopes: readonly Scope[], type: 'uuid' | 'bigint') => {
  const ids = scopes.map(({ id }) => id)
  return tx`
    unnest(${scopes.map((one) => one.organizationId)}::text[]::uuid[], ${
      type === 'uuid' ? tx`${ids}::text[]::uuid[]` : tx`${ids}::text[]::bigint[]`
    }) as s (organization_id, id)`
}

const typeOf = (channel: Channel) => (channel === 'feedback' ? 'bigint' : 'uuid')

export function readSubjects(tx: Query, channel: Channel, scopes: readonly Scope[]) {
  return tx<SubjectRow[]>`
    select
      i.id as "subjectId", s.id::text as id, i.source_version as "sourceVersion",
      coalesce(
        (
          select jsonb_agg(jsonb_build_object('kind', v.kind, 'wasRight', v.was_right, 'meantKind', v.meant_kind))
          from finding_verdict v
          where v.organization_id = i.organization_id and v.subject_id = i.id
        ),
        '[]'
      ) as verdicts
    from ${given(tx, scopes, typeOf(channel))}
    join insight_subject i on i.organization_id = s.organization_id and i.${tx(COLUMNS[channel])} = s.id`
}

export function readFindings(tx: Query, channel: Channel, scopes: readonly Scope[]) {
  return tx<(Present & { readonly sourceId: string })[]>`
    select g.id, g.kind, g.tier, s.id::text as "sourceId"
    from ${given(tx, scopes, typeOf(channel))}
    join agent_signal g on g.organization_id = s.organization_id and g.${tx(COLUMNS[channel])} = s.id
    where g.source = 'qualitative_inference'`
}

export interface NewSubject {
  readonly id: string
  readonly organizationId: string
  readonly channel: Channel
  readonly sourceId: string
  readonly occurredAt: string
  readonly language: string | null
  readonly state: 'pending' | 'analyzed' | 'failed' | 'not_supported'
  readonly outcome: string | null
  readonly sentiment: string | null
  readonly analyzerName: string
  readonly analyzerVersion: string
  readonly sourceVersion: number
}

/** Inserts subjects, or writes those with the same ids. */
export async function saveSubjects(tx: Query, rows: readonly NewSubject[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    insert into insight_subject (
      id, organization_id, channel, feedback_record_id, recording_id, occurred_at, language, state,
      outcome, sentiment, analyzer_name, analyzer_version, source_version
    )
    select
      r.id, r."organizationId", r.channel,
      case when r.channel = 'feedback' then r."sourceId"::bigint end, case when r.channel = 'recording' then r."sourceId"::uuid end,
      r."occurredAt", r.language, r.state, r.outcome, r.sentiment, r."analyzerName", r."analyzerVersion",
      r."sourceVersion"
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, channel text, "sourceId" text, "occurredAt" timestamptz, language text,
      state text, outcome text, sentiment text, "analyzerName" text, "analyzerVersion" text, "sourceVersion" int
    )
    on conflict (id) do update set
      occurred_at = excluded.occurred_at,
      language = excluded.language,
      state = excluded.state,
      outcome = excluded.outcome,
      sentiment = excluded.sentiment,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      source_version = excluded.source_version,
      updated_at = now()`
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

export interface NewFinding extends Omit<FindingRow, 'tier'> {
  readonly id: string
  readonly tier: Tier
  readonly organizationId: string
  readonly channel: Channel
  readonly sourceId: string
  readonly language: string | null
  readonly analyzerName: string
  readonly analyzerVersion: string
}

/** Inserts findings, or writes those with the same ids. A row that is the same already stays untouched. */
export async function saveFindings(tx: Query, rows: readonly NewFinding[]): Promise<void> {
  if (rows.length === 0) return
  await tx`
    insert into agent_signal as g (
      id, organization_id, channel, feedback_record_id, recording_id, source, kind, rating, comment, occurred_at, person_id, confidence,
      tier, field, start_sec, analyzer_name, analyzer_version, language, shown
    )
    select
      r.id, r."organizationId", r.channel,
      case when r.channel = 'feedback' then r."sourceId"::bigint end, case when r.channel = 'recording' then r."sourceId"::uuid end,
      'qualitative_inference', r.kind, r.rating, r.comment, r."occurredAt", r."personId", r.confidence, r.tier, r.field, r."startSec",
      r."analyzerName", r."analyzerVersion", r.language, r.shown
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, channel text, "sourceId" text, kind text, rating text, comment text,
      "occurredAt" timestamptz, "personId" bigint, confidence real, tier text, field text, "startSec" double precision,
      "analyzerName" text, "analyzerVersion" text, language text, shown boolean
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
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      language = excluded.language,
      shown = excluded.shown,
      updated_at = now()
    where (
      g.rating, g.comment, g.occurred_at, g.person_id, g.confidence, g.tier, g.field, g.start_sec, g.analyzer_name, g.analyzer_version, g.language,
      g.shown
    ) is distinct from (
      excluded.rating, excluded.comment, excluded.occurred_at, excluded.person_id, excluded.confidence,
      excluded.tier, excluded.field, excluded.start_sec, excluded.analyzer_name, excluded.analyzer_version, excluded.language,
      excluded.shown
    )`
}

/** Makes running analyses of a subject outdated, and removes its findings: their quotations are from a text that has changed. */
export async function outdate(tx: Query, channel: Channel, { id, organizationId }: Scope): Promise<void> {
  const column = tx(COLUMNS[channel])
  await tx`
    update insight_subject
    set source_version = source_version + 1, state = 'pending', updated_at = now()
    where organization_id = ${organizationId} and ${column} = ${id}`
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
