/** The SQL that reads what was found out about subjects as a whole. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Outcome } from '../analyze/insight.ts'

/** A conversation, a feedback record or a recording. */
export interface SubjectKey {
  readonly channel: Channel
  /** Id of the session, the feedback record or the recording. */
  readonly id: string
}

export interface SubjectRow extends SubjectKey {
  readonly outcome: Outcome | null
  /** Of a conversation. */
  readonly productArea: string | null
  /** Who read it; empty: nobody has. */
  readonly analyzerName: string
  readonly analyzerVersion: string
}

/** Subjects that no analyser has seen have no row. */
export function readSubjects(sql: Query, organizationId: string, subjects: readonly SubjectKey[]) {
  const idsOf = (channel: Channel) => subjects.filter((one) => one.channel === channel).map(({ id }) => id)
  return sql<SubjectRow[]>`
    select
      i.channel, coalesce(i.session_id::text, i.feedback_record_id::text, i.recording_id::text) as id, i.outcome,
      i.product_area as "productArea", i.analyzer_name as "analyzerName", i.analyzer_version as "analyzerVersion"
    from insight_subject i
    where i.organization_id = ${organizationId}
      and (
        i.session_id = any(${idsOf('conversation')}::text[]::uuid[])
        or i.feedback_record_id = any(${idsOf('feedback')}::text[]::bigint[])
        or i.recording_id = any(${idsOf('recording')}::text[]::uuid[])
      )`
}
