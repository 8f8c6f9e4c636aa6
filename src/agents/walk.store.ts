/**
 * The SQL of a session's turn: what it reads, and what it says of the session in the end.
 *
 * The rule: `lockSession` comes first. Ingest, analysis and deletion lock the same row, so a turn sees all or
 * nothing of each. An actor knows only the session's id: the organization is read with the lock, and named from there on.
 */
import type { Query } from '../platform/db/pool.ts'
import type { ProcessingStatus, SessionStatus } from './model.ts'
import type { TurnEvent } from './turn.rules.ts'

/** Where rows of a session belong. */
export interface SessionScope {
  readonly organizationId: string
  readonly applicationId: string
  readonly sessionId: string
}

export interface LockedSession extends SessionScope {
  readonly status: SessionStatus
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  readonly captureContent: boolean
  readonly gapTimeoutSeconds: number
  /** Nothing came in for longer than the application's gap time-out, by database time. */
  readonly idle: boolean
  /** The organization pays by credits. */
  readonly limited: boolean
}

/** Locks the session until the transaction ends. Null where it was deleted. */
export async function lockSession(tx: Query, sessionId: string): Promise<LockedSession | null> {
  const [row] = await tx<LockedSession[]>`
    select
      s.organization_id as "organizationId", s.application_id as "applicationId", s.id as "sessionId", s.status,
      s.watermark, s.gaps_permanent_through as "gapsPermanentThrough",
      (v.settings ->> 'captureContent')::boolean as "captureContent",
      (v.settings ->> 'gapTimeoutSeconds')::int as "gapTimeoutSeconds",
      s.last_activity_at + make_interval(secs => (v.settings ->> 'gapTimeoutSeconds')::int) <= now() as idle,
      o.response_credits is not null as limited
    from agent_session s
    join organization o on o.id = s.organization_id
    join agent_application a on a.organization_id = s.organization_id and a.id = s.application_id
    join agent_application_settings v
      on v.organization_id = a.organization_id and v.application_id = a.id and v.version = a.settings_version
    where s.id = ${sessionId}
    for update of s`
  return row ?? null
}

/** Only what a turn decides by: content of messages stays where it is. */
const turnEvent = (tx: Query) => tx`
  e.external_event_id as "externalEventId", e.sequence, e.revision, e.type, e.final,
  case when e.type = 'feedback' then e.body else '{}' end as body,
  e.type = 'assistant_message' and coalesce((e.body ->> 'visible')::boolean, false) as visible,
  (v.settings ->> 'captureContent')::boolean as captured`

/** The lowest stored events above the watermark, in order of sequence. */
export function readNext(tx: Query, sessionId: string, limit: number) {
  return tx<TurnEvent[]>`
    select ${turnEvent(tx)}
    from agent_session s
    join agent_event e
      on e.organization_id = s.organization_id and e.session_id = s.id and e.sequence > s.watermark
    join agent_application_settings v
      on v.organization_id = s.organization_id and v.application_id = s.application_id
      and v.version = e.settings_version
    where s.id = ${sessionId}
    order by e.sequence
    limit ${limit}`
}

/** Events that were revised, or came late, after the walk had passed them. */
export function readRevisits(tx: Query, sessionId: string, limit: number) {
  return tx<TurnEvent[]>`
    select ${turnEvent(tx)}
    from agent_session s
    join agent_revisit r on r.organization_id = s.organization_id and r.session_id = s.id
    join agent_event e
      on e.organization_id = r.organization_id and e.session_id = r.session_id
      and e.external_event_id = r.external_event_id
    join agent_application_settings v
      on v.organization_id = s.organization_id and v.application_id = s.application_id
      and v.version = e.settings_version
    where s.id = ${sessionId}
    order by e.sequence
    limit ${limit}`
}

export async function deleteRevisits(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
  eventIds: readonly string[],
): Promise<void> {
  if (eventIds.length === 0) return
  await tx`
    delete from agent_revisit
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and external_event_id = any(${eventIds as string[]}::text[])`
}

/** The highest stored sequence; -1 where nothing is stored. */
export async function highestSequence(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
): Promise<number> {
  const [row] = await tx<{ highest: number }[]>`
    select coalesce(max(sequence), -1) as highest
    from agent_event
    where organization_id = ${organizationId} and session_id = ${sessionId}`
  return row?.highest ?? -1
}

/** True where events are still to be walked, gone back for, or waited for. */
export async function hasUnwalked(tx: Query, { organizationId, sessionId }: SessionScope): Promise<boolean> {
  const [row] = await tx<{ unwalked: boolean }[]>`
    select
      exists (
        select 1 from agent_event e
        where e.organization_id = s.organization_id and e.session_id = s.id and e.sequence > s.watermark
      ) or exists (
        select 1 from agent_revisit r
        where r.organization_id = s.organization_id and r.session_id = s.id
      ) as unwalked
    from agent_session s
    where s.organization_id = ${organizationId} and s.id = ${sessionId}`
  return row?.unwalked ?? false
}

export interface Walked {
  readonly watermark: number
  readonly gapsPermanentThrough: number | null
  /** Seconds of idleness after which the gap that the session waits at becomes permanent; null: it waits at none. */
  readonly waitSeconds: number | null
  readonly processingStatus: ProcessingStatus
}

/** Writes the row in any case: guarded writes that wait for it learn from its version that the turn's letter is gone. */
export async function saveWalk(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
  { watermark, gapsPermanentThrough, waitSeconds, processingStatus }: Walked,
): Promise<void> {
  await tx`
    update agent_session set
      watermark = ${watermark},
      gaps_permanent_through = ${gapsPermanentThrough},
      gap_deadline = last_activity_at + make_interval(secs => ${waitSeconds}::int),
      processing_status = ${processingStatus},
      updated_at = now()
    where organization_id = ${organizationId} and id = ${sessionId}`
}

export async function saveProcessingStatus(
  tx: Query,
  { organizationId, sessionId }: SessionScope,
  processingStatus: ProcessingStatus,
): Promise<void> {
  await tx`
    update agent_session set processing_status = ${processingStatus}, updated_at = now()
    where organization_id = ${organizationId} and id = ${sessionId}`
}
