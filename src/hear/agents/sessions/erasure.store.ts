/**
 * The SQL that erases a person from sessions.
 *
 * Erasure changes a session under its row lock, as ingestion and the session's actor do. Fingerprints stay those of the sent
 * events. So ingestion still recognises a retry of an erased event, and the retry restores nothing.
 */
import { asMicroseconds, fromMicroseconds } from '../../../platform/db/keyset.ts'
import type { Tx } from '../../../platform/db/pool.ts'
import type { EventBody } from '../events/sanitize.ts'
import type { Context, Participant } from '../model.ts'
import type { Aliases, PersonIds } from './erasure.rules.ts'

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
  readonly variants: readonly string[] // texts that may be other forms of the address
}

/**
 * The next sessions after the position `after` that existed at `until`, newest first. `describedUntil`: sessions whose participants
 * changed later do not match.
 */
export function scanSessions(
  tx: Tx,
  organizationId: string,
  { publicIds, emails }: PersonIds,
  { until, describedUntil }: { readonly until: Date; readonly describedUntil: Date | null },
  after: Place | null,
  limit: number,
) {
  return tx<ScannedSession[]>`
    with page as materialized (
      select s.id, s.created_at, s.participants, s.described_at
      from agent_session s
      where s.organization_id = ${organizationId} and s.created_at <= ${until}
        ${after === null ? tx`` : tx`and (s.created_at, s.id) < (${fromMicroseconds(tx, after[0])}, ${after[1]}::uuid)`}
      order by s.created_at desc, s.id desc limit ${limit}
    )
    select p.id, ${asMicroseconds(tx, 'p.created_at')} as microseconds,
      coalesce(p.described_at <= ${describedUntil}::timestamptz, true) and exists (
        select 1 from jsonb_array_elements(p.participants) one
        where lower(one ->> 'personId') = any(${publicIds as string[]}::text[])
          or array[lower(trim(one ->> 'email')), lower(trim(one ->> 'username')), lower(trim(one ->> 'externalId'))]
            && ${emails as string[]}::text[]
      ) as matches, array(
        select text from jsonb_array_elements(p.participants) one
        cross join unnest(array[one ->> 'email', one ->> 'username', one ->> 'externalId']) as text
        where coalesce(p.described_at <= ${describedUntil}::timestamptz, true) and text like '%@%'
          and (text ~ '[^\\x01-\\x7f]|[.>]\\s*$' or text ~* 'mailto:|@([^@]*\\.)?xn--')
      ) as variants
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

interface FoundSession {
  readonly id: string
  readonly aliases: Aliases
  readonly names: readonly string[]
}

interface Erasure {
  readonly erasureId: string
  readonly organizationId: string
  readonly pass: number
}

/** @returns false if the erasure has found the session before */
export async function rememberSession(
  tx: Tx,
  { erasureId, organizationId, pass }: Erasure,
  { id, aliases, names }: FoundSession,
): Promise<boolean> {
  const { count } = await tx`
    insert into agent_session_erasure (erasure_id, organization_id, session_id, aliases, names, pass)
    values (
      ${erasureId}, ${organizationId}, ${id}, ${JSON.stringify(aliases)}::text::jsonb, ${JSON.stringify(names)}::text::jsonb, ${pass}
    )
    on conflict (erasure_id, session_id) do nothing`
  return count > 0
}

/** The next session after `after` that the erasure has found, in this pass (`isNew`) or an earlier one. */
export async function nextFoundSession(
  tx: Tx,
  { erasureId, organizationId, pass }: Erasure,
  after: string,
): Promise<(FoundSession & { readonly isNew: boolean }) | null> {
  const [row] = await tx<(FoundSession & { readonly isNew: boolean })[]>`
    select session_id as id, aliases, names, pass = ${pass} as "isNew"
    from agent_session_erasure
    where organization_id = ${organizationId} and erasure_id = ${erasureId} and session_id > ${after}
    order by session_id
    limit 1`
  return row ?? null
}

/** The erasure is finished. */
export async function forgetSessions(tx: Tx, { erasureId, organizationId }: Erasure): Promise<void> {
  await tx`
    delete from agent_session_erasure
    where organization_id = ${organizationId} and erasure_id = ${erasureId}`
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

/** Events with a sequence above `after` that were received until `until`, in order. */
export function readBodies(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  until: Date,
  after: number,
  limit: number,
) {
  return tx<StoredBody[]>`
    select external_event_id as "externalEventId", sequence, body
    from agent_event
    where organization_id = ${organizationId} and session_id = ${sessionId} and sequence > ${after}
      and updated_at <= ${until}
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

/** Superseded revisions after `after` that were received until `until`, ordered by event and revision. */
export function readRevisionBodies(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  until: Date,
  after: readonly [externalEventId: string, revision: number],
  limit: number,
) {
  return tx<StoredRevisionBody[]>`
    select external_event_id as "externalEventId", revision, body
    from agent_event_revision
    where organization_id = ${organizationId} and session_id = ${sessionId}
      and (external_event_id, revision) > (${after[0]}, ${after[1]})
      and created_at <= ${until}
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

/** The session's signals after `after`, ordered by sequence and id. What was read from a message that was received after `until` stays. */
export function readSignalTexts(
  tx: Tx,
  { organizationId, sessionId }: SessionId,
  until: Date,
  after: readonly [sequence: number, id: string],
  limit: number,
) {
  return tx<(SignalText & { readonly sequence: number })[]>`
    select s.id, s.sequence, s.labels, s.comment, s.participant_external_id as "participantExternalId"
    from agent_signal s
    where s.organization_id = ${organizationId} and s.session_id = ${sessionId}
      and (s.sequence, s.id) > (${after[0]}, ${after[1]}::uuid)
      and not exists (
        select
        from agent_event e
        where e.organization_id = s.organization_id
          and e.session_id = s.session_id
          and e.external_event_id = s.external_event_id
          and e.updated_at > ${until}
      )
    order by s.sequence, s.id
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
