/** The SQL of `insight_subject`: what was analysed, by which analyser, and the outcome. The caller holds the subject's row lock. */
import type { Query } from '../platform/db/pool.ts'
import type { NewId } from '../platform/ids.ts'
import type { Result } from './finding.rules.ts'

/** The session, feedback record or recording that was analysed. */
export type SubjectRef =
  | {
      readonly channel: 'conversation'
      readonly organizationId: string
      readonly applicationId: string
      readonly sessionId: string
    }
  | { readonly channel: 'feedback'; readonly organizationId: string; readonly feedbackRecordId: number }
  | { readonly channel: 'recording'; readonly organizationId: string; readonly recordingId: string }

export interface Analyzed {
  readonly subject: SubjectRef
  /** RFC 3339 text. */
  readonly occurredAt: string
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
  const rows = all.map(({ subject, occurredAt, result }) => {
    const { analyzer, state, language, outcome, sentiment } = result
    const { name, version } = analyzer
    return { id: newId(), ...subject, occurredAt, state, language, outcome, sentiment, name, version }
  })
  await tx`
    insert into insight_subject (
      id, organization_id, channel, application_id, session_id, feedback_record_id, recording_id, occurred_at, state, language,
      outcome, sentiment, analyzer_name, analyzer_version
    )
    select
      r.id, r."organizationId", ${channel}, r."applicationId", r."sessionId", r."feedbackRecordId", r."recordingId",
      r."occurredAt", r.state, r.language, r.outcome, r.sentiment, r.name, r.version
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      id uuid, "organizationId" uuid, "applicationId" uuid, "sessionId" uuid, "feedbackRecordId" bigint, "recordingId" uuid,
      "occurredAt" timestamptz, state text, language text, outcome text, sentiment text, name text, version text
    )
    on conflict (${tx(KEYS[channel])}) do update set
      state = excluded.state,
      language = excluded.language,
      outcome = excluded.outcome,
      sentiment = excluded.sentiment,
      analyzer_name = excluded.analyzer_name,
      analyzer_version = excluded.analyzer_version,
      updated_at = now()`
}

/** The column that identifies a subject of the channel. */
const KEYS = {
  conversation: 'session_id',
  feedback: 'feedback_record_id',
  recording: 'recording_id',
} as const
