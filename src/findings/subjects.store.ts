/** The SQL of `insight_subject`: what was analysed, by which analyser, and the outcome. The caller holds the subject's row lock. */
import type { Query } from '../platform/db/pool.ts'
import type { NewId } from '../platform/ids.ts'
import type { Result } from './finding.rules.ts'

/** The analysed object: a session, a feedback record or a recording. */
export type SubjectRef =
  | { readonly channel: 'conversation'; readonly organizationId: string; readonly sessionId: string }
  | { readonly channel: 'feedback'; readonly organizationId: string; readonly feedbackRecordId: number }
  | { readonly channel: 'recording'; readonly organizationId: string; readonly recordingId: string }

export interface Analyzed {
  readonly subject: SubjectRef
  readonly result: Omit<Result, 'findings' | 'state'> & { readonly state: Result['state'] | 'failed' }
}

/** Stores results of subjects of one channel. A subject has one row, which a later result replaces. */
export async function saveResults(
  tx: Query,
  newId: NewId,
  channel: SubjectRef['channel'],
  all: readonly Analyzed[],
): Promise<void> {
  if (all.length === 0) return
  const rows = all.map(({ subject, result: { analyzer, state, language, outcome, sentiment } }) => {
    const result = { state, language, outcome, sentiment }
    return { id: newId(), ...subject, ...result, name: analyzer.name, version: analyzer.version }
  })
  await tx`
    insert into insight_subject (
      id, organization_id, channel, session_id, feedback_record_id, recording_id, state, language, outcome, sentiment,
      analyzer_name, analyzer_version
    )
    select
      r.id, r."organizationId", ${channel}, r."sessionId", r."feedbackRecordId", r."recordingId", r.state, r.language,
      r.outcome, r.sentiment, r.name, r.version
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, "sessionId" uuid, "feedbackRecordId" bigint, "recordingId" uuid, state text,
      language text, outcome text, sentiment text, name text, version text
    )
    on conflict ${keyOf(tx, channel)} do update set
      state = excluded.state,
      language = excluded.language,
      outcome = excluded.outcome,
      sentiment = excluded.sentiment,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      analyzed_at = now()`
}

/** The unique index of the channel. */
function keyOf(tx: Query, channel: SubjectRef['channel']) {
  switch (channel) {
    case 'conversation':
      return tx`(session_id) where session_id is not null`
    case 'feedback':
      return tx`(feedback_record_id) where feedback_record_id is not null`
    case 'recording':
      return tx`(recording_id) where recording_id is not null`
  }
}
