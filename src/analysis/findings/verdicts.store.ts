/** The SQL of verdicts about findings, and of the counts that follow from them. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Delta, Sort } from './verdict.rules.ts'

/** What a finding is about. One of the ids is given. */
export interface SubjectIds {
  readonly sessionId: string | null
  readonly recordId: number | null
  readonly recordingId: string | null
}

/** Locks the session, feedback record or recording, as every writer of its findings does first. @returns false if it is gone */
export async function lockSubject(tx: Tx, organizationId: string, ids: SubjectIds): Promise<boolean> {
  const { sessionId, recordId, recordingId } = ids
  const { count } =
    sessionId !== null
      ? await tx`
          select from agent_session where organization_id = ${organizationId} and id = ${sessionId} for no key update`
      : recordId !== null
        ? await tx`
            select from feedback_record where organization_id = ${organizationId} and id = ${recordId} for no key update`
        : await tx`
            select from recording where organization_id = ${organizationId} and id = ${recordingId} for no key update`
  return count === 1
}

const isAbout = (tx: Query, alias: string, { sessionId, recordId, recordingId }: SubjectIds) => {
  if (sessionId !== null) return tx`${tx(alias)}.session_id = ${sessionId}`
  if (recordId !== null) return tx`${tx(alias)}.feedback_record_id = ${recordId}`
  return tx`${tx(alias)}.recording_id = ${recordingId}`
}

/** The id of the subject of a finding. One of an older version gets a subject first. */
export async function subjectOf(
  tx: Tx,
  organizationId: string,
  ids: SubjectIds,
  finding: { readonly id: string; readonly newSubjectId: string },
): Promise<string> {
  await tx`
    insert into insight_subject (
      id, organization_id, channel, session_id, feedback_record_id, recording_id, application_id, occurred_at, language, state,
      analyzer_name, analyzer_version
    )
    select
      ${finding.newSubjectId}, g.organization_id, g.channel, g.session_id, g.feedback_record_id, g.recording_id, g.application_id,
      g.occurred_at, g.language, 'analyzed', coalesce(g.analyzer_name, ''), coalesce(g.analyzer_version, '')
    from agent_signal g
    where g.organization_id = ${organizationId} and g.id = ${finding.id}
    on conflict do nothing`
  const [row] = await tx<{ id: string }[]>`
    select i.id from insight_subject i where i.organization_id = ${organizationId} and ${isAbout(tx, 'i', ids)}`
  if (row === undefined) throw new Error('the subject of a finding is locked, but has no row')
  return row.id
}

/** The verdict that there is about a kind of a subject. */
export async function findVerdict(tx: Tx, organizationId: string, subjectId: string, kind: string) {
  const [row] = await tx<(Sort & { readonly wasRight: boolean })[]>`
    select v.kind, v.tier, coalesce(v.language, '') as language, v.analyzer_name as "analyzerName",
      v.analyzer_version as "analyzerVersion", v.was_right as "wasRight"
    from finding_verdict v
    where v.organization_id = ${organizationId} and v.subject_id = ${subjectId} and v.kind = ${kind}`
  return row ?? null
}

export interface NewVerdict extends Sort {
  readonly id: string
  readonly subjectId: string
  readonly wasRight: boolean
  readonly meantKind: string | null
  readonly userId: string | null
}

/** A subject has one verdict about a kind, which a later one replaces. */
export async function saveVerdict(tx: Tx, organizationId: string, verdict: NewVerdict): Promise<void> {
  await tx`
    insert into finding_verdict (
      id, organization_id, subject_id, kind, was_right, meant_kind, analyzer_name, analyzer_version, tier, language, user_id
    )
    values (
      ${verdict.id}, ${organizationId}, ${verdict.subjectId}, ${verdict.kind}, ${verdict.wasRight}, ${verdict.meantKind},
      ${verdict.analyzerName}, ${verdict.analyzerVersion}, ${verdict.tier}, nullif(${verdict.language}::text, ''), ${verdict.userId}
    )
    on conflict (subject_id, kind) do update set
      was_right = excluded.was_right,
      meant_kind = excluded.meant_kind,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      tier = excluded.tier,
      language = excluded.language,
      user_id = excluded.user_id,
      updated_at = now()`
}

/** A count of verdicts. */
export interface Counted extends Sort {
  readonly judged: number
  readonly right: number
}

/** Adds to the counts, in one order, so that transactions do not wait for each other in a circle. @returns the new counts */
export async function addToPrecision(
  tx: Tx,
  organizationId: string,
  deltas: readonly Delta[],
): Promise<readonly Counted[]> {
  return tx<Counted[]>`
    insert into kind_precision as p (
      organization_id, kind, language, analyzer_name, analyzer_version, tier, judged, was_right
    )
    select ${organizationId}, d.kind, d.language, d."analyzerName", d."analyzerVersion", d.tier, d.judged, d."right"
    from json_to_recordset(${JSON.stringify(deltas)}::text::json) as d (
      kind text, language text, "analyzerName" text, "analyzerVersion" text, tier text, judged int, "right" int
    )
    order by d.kind, d.language, d."analyzerName", d."analyzerVersion", d.tier
    on conflict (organization_id, kind, language, analyzer_name, analyzer_version, tier) do update set
      judged = p.judged + excluded.judged,
      was_right = p.was_right + excluded.was_right
    returning p.kind, p.language, p.analyzer_name as "analyzerName", p.analyzer_version as "analyzerVersion", p.tier, p.judged,
      p.was_right as "right"`
}

export interface ChangedFinding {
  readonly id: string
  readonly kind: string
  readonly foundKind: string | null
  readonly rating: string | null
  readonly shown: boolean
}

/**
 * Gives the finding what a verdict makes of it. If the subject has another finding of the kind that was meant, that one is shown, and
 * this one is hidden.
 */
export async function applyVerdict(
  tx: Tx,
  organizationId: string,
  ids: SubjectIds,
  { id, kind, foundKind, rating, shown }: ChangedFinding,
): Promise<void> {
  const others = await tx`
    update agent_signal g
    set shown = true, updated_at = now()
    where g.organization_id = ${organizationId} and ${isAbout(tx, 'g', ids)} and g.id <> ${id}
      and g.kind = ${kind} and g.tier is not null and ${shown}`
  if (others.count > 0)
    await tx`
      update agent_signal set shown = false, updated_at = now()
      where organization_id = ${organizationId} and id = ${id}`
  else
    await tx`
      update agent_signal
      set kind = ${kind}, found_kind = ${foundKind}, rating = ${rating}, shown = ${shown}, updated_at = now()
      where organization_id = ${organizationId} and id = ${id}`
}
