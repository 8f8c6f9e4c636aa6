/**
 * The SQL that erases a person from sessions.
 *
 * Erasure changes a session under its row lock, as ingestion and the session's actor do. Fingerprints stay those of the sent
 * events. So ingestion still recognises a retry of an erased event, and the retry restores nothing.
 */
import { asMicroseconds, fromMicroseconds } from '../../platform/db/keyset.ts'
import type { Tx } from '../../platform/db/pool.ts'
import type { EventBody } from '../events/sanitize.ts'
import type { Context, Participant } from '../model.ts'
import type { PersonIds } from './erasure.rules.ts'

export interface SessionId {
  readonly organizationId: string
  readonly sessionId: string
}

/** A position in the list of an organization's sessions, newest first. */
export type Place = readonly [microseconds: number, id: string]

export interface ScannedSession {
  readonly id: string
  readonly microseconds: number
  /** True where a participant has the person's id or e-mail address. */
  readonly matches: boolean
}

/** The next sessions after the position `after` that existed at `until`, newest first. */
export function scanSessions(
  tx: Tx,
  organizationId: string,
  { publicIds, emails }: PersonIds,
  until: Date,
  after: Place | null,
  limit: number,
) {
  return tx<ScannedSession[]>`
    with page as materialized (
      select s.id, s.created_at, s.participants
      from agent_session s
      where s.organization_id = ${organizationId}
        and s.created_at <= ${until}
        ${after === null ? tx`` : tx`and (s.created_at, s.id) < (${fromMicroseconds(tx, after[0])}, ${after[1]}::uuid)`}
      order by s.created_at desc, s.id desc
      limit ${limit}
    )
    select p.id, ${asMicroseconds(tx, 'p.created_at')} as microseconds,
      exists (
        select 1
        from jsonb_array_elements(p.participants) one
        where lower(one ->> 'personId') = any(${publicIds as string[]}::text[])
          or array[
            lower(trim(one ->> 'email')), lower(trim(one ->> 'username')), lower(trim(one ->> 'externalId'))
          ] && ${emails as string[]}::text[]
      ) as matches
    from page p
    order by p.created_at desc, p.id desc`
}

export interface OpenedSession {
  readonly participants: readonly Participant[]
  readonly context: Context | null
}

/** Locks the session until the transaction ends. @returns null where the session was deleted */
export async function lockForErasure(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
): Promise<OpenedSession | null> {
  const [row] = await tx<OpenedSession[]>`
    select participants, context
    from agent_session
    where organization_id = ${organizationId} and id = ${sessionId}
    for update`
  return row ?? null
}

/** Raises the version of the session (see `versionOf`), so that no process writes from its memory of the session. */
export async function saveErasedSession(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  { participants, context }: OpenedSession,
): Promise<void> {
  await tx`
    update agent_session
    set participants = ${JSON.stringify(participants)}::text::jsonb,
      context = ${context === null ? null : JSON.stringify(context)}::text::jsonb,
      erased_at = now(), updated_at = now(), last_activity_at = last_activity_at + interval '1 microsecond'
    where organization_id = ${organizationId} and id = ${sessionId}`
}

/** Removes the people of these participants, whose external ids may be addresses. */
export async function unlinkParticipants(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  externalIds: readonly string[],
): Promise<void> {
  await tx`
    delete from agent_session_person
    where organization_id = ${organizationId} and session_id = ${sessionId}
      and participant_external_id = any(${externalIds as string[]}::text[])`
}

export interface StoredBody {
  readonly externalEventId: string
  readonly sequence: number
  readonly body: EventBody
}

/** Events with a sequence above `after`, in order. */
export function readBodies(tx: Tx, { organizationId, sessionId }: SessionId, after: number, limit: number) {
  return tx<StoredBody[]>`
    select external_event_id as "externalEventId", sequence, body
    from agent_event
    where organization_id = ${organizationId} and session_id = ${sessionId} and sequence > ${after}
    order by sequence
    limit ${limit}`
}

export async function writeBodies(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  rows: readonly Pick<StoredBody, 'externalEventId' | 'body'>[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update agent_event e
    set body = c.body::jsonb
    from unnest(
      ${rows.map(({ externalEventId }) => externalEventId)}::text[],
      ${rows.map(({ body }) => JSON.stringify(body))}::text[]
    ) as c (id, body)
    where e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.external_event_id = c.id`
}

export interface StoredRevisionBody {
  readonly externalEventId: string
  readonly revision: number
  readonly body: EventBody
}

/** Superseded revisions after `after`, ordered by event and revision. */
export function readRevisionBodies(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  after: readonly [externalEventId: string, revision: number],
  limit: number,
) {
  return tx<StoredRevisionBody[]>`
    select external_event_id as "externalEventId", revision, body
    from agent_event_revision
    where organization_id = ${organizationId} and session_id = ${sessionId}
      and (external_event_id, revision) > (${after[0]}, ${after[1]})
    order by external_event_id, revision
    limit ${limit}`
}

export async function writeRevisionBodies(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  rows: readonly StoredRevisionBody[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update agent_event_revision e
    set body = c.body::jsonb
    from unnest(
      ${rows.map(({ externalEventId }) => externalEventId)}::text[],
      ${rows.map(({ revision }) => revision)}::int8[],
      ${rows.map(({ body }) => JSON.stringify(body))}::text[]
    ) as c (id, revision, body)
    where e.organization_id = ${organizationId} and e.session_id = ${sessionId} and e.external_event_id = c.id
      and e.revision = c.revision`
}

export interface SignalText {
  readonly id: string
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly participantExternalId: string | null
}

/** The session's signals after `after`, ordered by sequence and id. */
export function readSignalTexts(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  after: readonly [sequence: number, id: string],
  limit: number,
) {
  return tx<(SignalText & { readonly sequence: number })[]>`
    select id, sequence, labels, comment, participant_external_id as "participantExternalId"
    from agent_signal
    where organization_id = ${organizationId} and session_id = ${sessionId}
      and (sequence, id) > (${after[0]}, ${after[1]}::uuid)
    order by sequence, id
    limit ${limit}`
}

export async function writeSignalTexts(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  rows: readonly SignalText[],
): Promise<void> {
  if (rows.length === 0) return
  await tx`
    update agent_signal s
    set labels = c.labels, comment = c.comment, participant_external_id = c."participantExternalId", updated_at = now()
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as c (
      id uuid, labels jsonb, comment text, "participantExternalId" text
    )
    where s.organization_id = ${organizationId} and s.session_id = ${sessionId} and s.id = c.id`
}

/**
 * Makes running analyses of the session outdated: their findings are refused and the analysis runs again (analysis/store.ts). Passages of the
 * search that were read before are not written.
 */
export async function refuseAnalyses(tx: Tx, { organizationId, sessionId }: SessionId): Promise<void> {
  await tx`
    update agent_session
    set erased_at = clock_timestamp()
    where organization_id = ${organizationId} and id = ${sessionId}`
  await tx`
    update agent_response
    set version = version + 1, updated_at = now()
    where organization_id = ${organizationId} and session_id = ${sessionId} and state = 'metered'`
}
