/**
 * The SQL of ingestion. A request costs two round trips inside its transaction: one that locks the session and reads
 * what its decision needs, one that writes. Statements of a trip are sent together and run in the order they are
 * written here; READ COMMITTED gives each its own snapshot, so what follows the lock sees everything committed
 * before the lock was granted.
 */
import type { Query } from '../platform/db/pool.ts'
import type { StoredEvent } from './event.rules.ts'
import type { PreparedEvent } from './fingerprint.ts'
import type { Context, Participant, ProcessingStatus, SessionStatus } from './model.ts'

export interface SessionKey {
  readonly organizationId: string
  readonly applicationId: string
  readonly externalSessionId: string
}

export interface SessionRow {
  readonly id: string
  readonly status: SessionStatus
  readonly processingStatus: ProcessingStatus
  readonly agentVersion: string | null
  readonly source: { readonly sdk?: string; readonly version?: string } | null
  readonly context: Context | null
  readonly environment: string | null
  readonly participants: readonly Participant[]
  readonly watermark: number
}

/** The members of a session that a request writes. */
export type SessionValues = Omit<SessionRow, 'id' | 'watermark'>

export interface StoredEventRow extends StoredEvent {
  readonly externalEventId: string
}

export interface RevisionRow {
  readonly externalEventId: string
  readonly revision: number
  readonly fingerprint: Uint8Array
  readonly settingsVersion: number
}

/** Locks the session until the transaction ends. Null where it does not exist yet. */
export async function lockSession(tx: Query, key: SessionKey): Promise<SessionRow | null> {
  const [row] = await tx<SessionRow[]>`
    select
      id, status, processing_status as "processingStatus", agent_version as "agentVersion", source, context,
      environment, participants, watermark
    from agent_session
    where organization_id = ${key.organizationId}
      and application_id = ${key.applicationId}
      and external_session_id = ${key.externalSessionId}
    for update`
  return row ?? null
}

/** The stored events that have one of the ids or sit on one of the sequences. */
export async function readStoredEvents(
  tx: Query,
  key: SessionKey,
  ids: readonly string[],
  sequences: readonly number[],
): Promise<readonly StoredEventRow[]> {
  return tx<StoredEventRow[]>`
    with session as materialized (
      select id from agent_session
      where organization_id = ${key.organizationId}
        and application_id = ${key.applicationId}
        and external_session_id = ${key.externalSessionId}
    ), hit as (
      select session_id, external_event_id from agent_event
      where session_id = (select id from session) and external_event_id = any(${ids as string[]}::text[])
      union
      select session_id, external_event_id from agent_event
      where session_id = (select id from session) and sequence = any(${sequences as number[]}::int8[])
    )
    select
      e.external_event_id as "externalEventId", e.sequence, e.revision, e.type, e.final,
      e.fingerprint, e.settings_version as "settingsVersion"
    from hit join agent_event e using (session_id, external_event_id)
    where e.organization_id = ${key.organizationId}`
}

/** Superseded revisions of the given events: a late retry of one is a duplicate, not a conflict. */
export async function readRevisions(
  tx: Query,
  organizationId: string,
  sessionId: string,
  ids: readonly string[],
): Promise<readonly RevisionRow[]> {
  return tx<RevisionRow[]>`
    select
      external_event_id as "externalEventId", revision, fingerprint, settings_version as "settingsVersion"
    from agent_event_revision
    where organization_id = ${organizationId}
      and session_id = ${sessionId}
      and external_event_id = any(${ids as string[]}::text[])`
}

/** @returns false where another request created the same session meanwhile: start again. */
export async function insertSession(
  tx: Query,
  key: SessionKey,
  id: string,
  values: SessionValues,
): Promise<boolean> {
  const rows = await tx`
    insert into agent_session (
      id, organization_id, application_id, external_session_id, status, processing_status, agent_version, source, context,
      environment, participants
    ) values (
      ${id}, ${key.organizationId}, ${key.applicationId}, ${key.externalSessionId}, ${values.status},
      ${values.processingStatus}, ${values.agentVersion}, ${json(values.source)}::text::jsonb,
      ${json(values.context)}::text::jsonb, ${values.environment}, ${json(values.participants)}::text::jsonb
    )
    on conflict (application_id, external_session_id) do nothing
    returning id`
  return rows.length === 1
}

export async function updateSession(
  tx: Query,
  organizationId: string,
  id: string,
  values: SessionValues,
): Promise<void> {
  await tx`
    update agent_session set
      status = ${values.status},
      processing_status = ${values.processingStatus},
      agent_version = ${values.agentVersion},
      source = ${json(values.source)}::text::jsonb,
      context = ${json(values.context)}::text::jsonb,
      environment = ${values.environment},
      participants = ${json(values.participants)}::text::jsonb,
      last_activity_at = now(),
      updated_at = now()
    where organization_id = ${organizationId} and id = ${id}`
}

function json(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** Writes new events. One parameter for all rows: the fastest of the plain ways (see bench/ingest). */
export async function insertEvents(
  tx: Query,
  organizationId: string,
  sessionId: string,
  version: number,
  rows: readonly PreparedEvent[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    insert into agent_event (
      organization_id, session_id, external_event_id, sequence, revision, type, final, occurred_at, body,
      fingerprint, settings_version
    )
    select ${organizationId}, ${sessionId}, id, seq, rev, type, final, at, body, decode(hash, 'hex'), ${version}
    from json_to_recordset(${recordset(rows)}::text::json) as r (
      id text, seq int8, rev int8, type text, final bool, at timestamptz, body jsonb, hash text
    )`
}

/** Replaces events by a higher revision and keeps what they were. */
export async function reviseEvents(
  tx: Query,
  organizationId: string,
  sessionId: string,
  version: number,
  rows: readonly PreparedEvent[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    with incoming as materialized (
      select * from json_to_recordset(${recordset(rows)}::text::json) as r (
        id text, seq int8, rev int8, type text, final bool, at timestamptz, body jsonb, hash text
      )
    ), kept as (
      insert into agent_event_revision (
        organization_id, session_id, external_event_id, revision, final, occurred_at, body, fingerprint,
        settings_version, created_at
      )
      select
        e.organization_id, e.session_id, e.external_event_id, e.revision, e.final, e.occurred_at, e.body, e.fingerprint,
        e.settings_version, e.updated_at
      from agent_event e join incoming i on i.id = e.external_event_id
      where e.organization_id = ${organizationId} and e.session_id = ${sessionId}
    )
    update agent_event e set
      revision = i.rev, final = i.final, occurred_at = i.at, body = i.body, fingerprint = decode(i.hash, 'hex'),
      settings_version = ${version}, updated_at = now()
    from incoming i
    where e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.external_event_id = i.id`
}

/** The rows as one JSON array. Bodies are JSON text already and go in as they are. */
function recordset(rows: readonly PreparedEvent[]): string {
  const parts = rows.map(({ event, body, fingerprint }) => {
    const { externalEventId, sequence, revision, type, final, occurredAt } = event
    const hash = Buffer.from(fingerprint).toString('hex')
    return (
      `{"id":${JSON.stringify(externalEventId)},"seq":${sequence},"rev":${revision},"type":"${type}","final":${final},` +
      `"at":"${occurredAt}","body":${body},"hash":"${hash}"}`
    )
  })
  return `[${parts.join(',')}]`
}

/** Events at or below the watermark that changed: the session's actor goes back for them. */
export async function insertRevisits(
  tx: Query,
  organizationId: string,
  sessionId: string,
  late: readonly PreparedEvent[],
): Promise<void> {
  if (late.length === 0) return
  const ids = late.map(({ event }) => event.externalEventId)
  await tx`
    insert into agent_revisit (organization_id, session_id, external_event_id)
    select ${organizationId}, ${sessionId}, id from unnest(${ids}::text[]) as t (id)
    on conflict (session_id, external_event_id) do nothing`
}
