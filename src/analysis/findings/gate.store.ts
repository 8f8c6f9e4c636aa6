/** The SQL of the gate: the verdicts of an organization, and what is shown to it. */
import type { Query, Tx } from '../../platform/db/pool.ts'
import type { Sort } from './verdict.rules.ts'
import type { Counted } from './verdicts.store.ts'

/** The counts of organizations about one version of an analyser. */
export function readPrecision(
  sql: Query,
  organizationIds: readonly string[],
  analyzer: { readonly name: string; readonly version: string },
) {
  return sql<(Counted & { readonly organizationId: string })[]>`
    select p.organization_id as "organizationId", p.kind, p.language, p.analyzer_name as "analyzerName",
      p.analyzer_version as "analyzerVersion", p.tier, p.judged, p.was_right as "right"
    from kind_precision p
    where p.organization_id = any(${organizationIds as string[]}::text[]::uuid[])
      and p.analyzer_name = ${analyzer.name}
      and p.analyzer_version = ${analyzer.version}`
}

/** The place in the list of an organization's signals, newest first. */
export type Place = readonly [moment: string, id: string]

/**
 * Shows or hides the findings of a sort among the next `limit` signals of the organization. Those that a person judged stay as they are.
 * @param shownOn the channels on which they are shown
 * @returns the last of these signals; null if there is none
 */
export async function followGate(
  tx: Tx,
  organizationId: string,
  { kind, tier, language, analyzerName, analyzerVersion }: Sort,
  shownOn: readonly string[],
  after: Place | null,
  limit: number,
): Promise<Place | null> {
  const [last] = await tx<{ moment: string; id: string }[]>`
    with batch as materialized (
      select g.id, g.created_at
      from agent_signal g
      where g.organization_id = ${organizationId}
        ${after === null ? tx`` : tx`and (g.created_at, g.id) < (${after[0]}::text::timestamptz, ${after[1]}::uuid)`}
      order by g.created_at desc, g.id desc
      limit ${limit}
    ), changed as (
      update agent_signal g
      set shown = not g.shown, updated_at = now()
      from batch b
      where g.id = b.id
        and g.organization_id = ${organizationId}
        and g.source = 'qualitative_inference'
        and g.kind = ${kind}
        and g.tier = ${tier}
        and g.found_kind is null
        and coalesce(g.language, '') = ${language}
        and g.analyzer_name = ${analyzerName}
        and g.analyzer_version = ${analyzerVersion}
        and g.shown <> (g.channel = any(${shownOn as string[]}::text[]))
        and not exists (
          select
          from finding_verdict v
          where v.organization_id = ${organizationId}
            and v.subject_id = coalesce(
              (select i.id from insight_subject i where i.session_id = g.session_id),
              (select i.id from insight_subject i where i.feedback_record_id = g.feedback_record_id),
              (select i.id from insight_subject i where i.recording_id = g.recording_id)
            )
            and (v.kind = g.kind or v.meant_kind = g.kind)
        )
    )
    select to_char(b.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as moment, b.id
    from batch b
    order by b.created_at, b.id
    limit 1`
  return last === undefined ? null : [last.moment, last.id]
}
