/** The SQL that shows whether a session changed while it was analysed again. */
import type { Query } from '../../../platform/db/pool.ts'

export interface SessionVersion {
  /** The analysis that was stored last. Rises with every first pass; 0: none. */
  readonly sourceVersion: number
  /** The last turn of the session's actor, which may have added messages. */
  readonly turnedAt: string | null
  /** The analyser that read it last. */
  readonly analyzerName: string | null
  readonly analyzerVersion: string | null
}

export async function readVersions(
  tx: Query,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SessionVersion>> {
  const rows = await tx<(SessionVersion & { readonly id: string })[]>`
    select
      s.id, coalesce(i.source_version, 0) as "sourceVersion", s.turned_at::text as "turnedAt",
      i.analyzer_name as "analyzerName", i.analyzer_version as "analyzerVersion"
    from agent_session s
    left join insight_subject i on i.organization_id = s.organization_id and i.session_id = s.id
    where s.id = any(${ids as string[]}::text[]::uuid[])`
  return new Map(rows.map((row) => [row.id, row]))
}
