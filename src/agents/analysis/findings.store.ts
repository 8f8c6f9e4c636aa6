/**
 * The SQL that stores the findings of sessions, under the sessions' row locks. A session has one finding of each kind. A finding
 * that was there before keeps its id.
 */
import type { Query } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import { numbered, type PerSession, scopesOf, sessionTable } from '../sessions/session-table.store.ts'

export interface SessionFinding {
  readonly kind: string
  readonly rating: string | null
  /** The quotation. */
  readonly comment: string
  readonly confidence: number
  readonly tier: string
  readonly shown: boolean
  readonly language: string | null
  readonly analyzerName: string
  readonly analyzerVersion: string
  /** The message that is quoted. */
  readonly externalEventId: string
  /** The last response before it. */
  readonly targetEventExternalId: string | null
  readonly participantExternalId: string | null
  /** Of the message when it was read. If the message changed since, the finding is not stored. */
  readonly bodyHash: string
}

/** Replaces the findings of the sessions. `keepsLikely`: those of the trained head stay, because only rules were applied now. */
export async function replaceFindings(
  tx: Query,
  newId: NewId,
  parts: readonly PerSession<SessionFinding>[],
  keepsLikely = false,
): Promise<void> {
  if (parts.length === 0) return
  const { ns, rows } = numbered(parts)
  const named = rows.map((row, index) => ({ ...row, n: ns[index], id: newId() }))
  const found = tx`
    select r.*, s.organization_id, s.application_id, s.session_id, e.sequence, e.revision, e.occurred_at
    from json_to_recordset(${JSON.stringify(named)}::text::json) as r (
      n int, id uuid, kind text, rating text, comment text, confidence real, tier text, shown boolean, language text,
      "analyzerName" text, "analyzerVersion" text, "externalEventId" text, "targetEventExternalId" text,
      "participantExternalId" text, "bodyHash" text
    )
    join ${sessionTable(tx, scopesOf(parts))} using (n)
    cross join lateral (
      select e.sequence, e.revision, e.occurred_at
      from agent_event e
      where e.organization_id = s.organization_id
        and e.session_id = s.session_id
        and e.external_event_id = r."externalEventId"
        and md5(e.body::text) = r."bodyHash"
      limit 1
    ) e`
  // One statement: the parts of a statement see the table as it was before, so each row is deleted or updated, never both.
  await tx`
    with found as materialized (${found}), known as materialized (
      select g.id, g.kind, g.tier, s.session_id, row_number() over (partition by s.session_id, g.kind order by g.created_at, g.id) as place
      from ${sessionTable(tx, scopesOf(parts))}
      cross join lateral (
        select g.id, g.kind, g.tier, g.created_at
        from agent_signal g
        where g.organization_id = s.organization_id
          and g.session_id = s.session_id
          and g.source = 'qualitative_inference'
      ) g
    ), kept as (
      update agent_signal g set
        rating = f.rating, comment = f.comment, confidence = f.confidence, tier = f.tier, shown = f.shown, language = f.language,
        analyzer_name = f."analyzerName", analyzer_version = f."analyzerVersion", external_event_id = f."externalEventId",
        target_event_external_id = f."targetEventExternalId", participant_external_id = f."participantExternalId",
        sequence = f.sequence, revision = f.revision, occurred_at = f.occurred_at, updated_at = now()
      from found f
      join known k on k.session_id = f.session_id and k.kind = f.kind and k.place = 1
      where g.organization_id = f.organization_id
        and g.id = k.id
        and (g.rating, g.comment, g.confidence, g.tier, g.shown, g.language, g.analyzer_name, g.analyzer_version,
          g.external_event_id, g.target_event_external_id, g.participant_external_id, g.sequence, g.revision, g.occurred_at)
        is distinct from
          (f.rating, f.comment, f.confidence, f.tier, f.shown, f.language, f."analyzerName", f."analyzerVersion",
          f."externalEventId", f."targetEventExternalId", f."participantExternalId", f.sequence, f.revision, f.occurred_at)
    ), dropped as (
      delete from agent_signal g
      using known k
      where g.organization_id = any(${scopesOf(parts).map(({ organizationId }) => organizationId)}::text[]::uuid[])
        and g.id = k.id
        and (
          k.place > 1
          or not exists (select from found f where f.session_id = k.session_id and f.kind = k.kind)
          and (k.tier is distinct from 'likely' or not ${keepsLikely})
        )
    )
    insert into agent_signal (
      id, organization_id, application_id, session_id, channel, source, kind, rating, labels, comment, confidence, tier, shown,
      language, analyzer_name, analyzer_version, external_event_id, target_event_external_id, participant_external_id,
      sequence, revision, occurred_at
    )
    select
      f.id, f.organization_id, f.application_id, f.session_id, 'conversation', 'qualitative_inference', f.kind, f.rating, '[]',
      f.comment, f.confidence, f.tier, f.shown, f.language, f."analyzerName", f."analyzerVersion", f."externalEventId",
      f."targetEventExternalId", f."participantExternalId", f.sequence, f.revision, f.occurred_at
    from found f
    where not exists (select from known k where k.session_id = f.session_id and k.kind = f.kind)`
}
