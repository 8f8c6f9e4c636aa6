/**
 * Writing signals. One signal per event, source and kind: what is read again from a revised event replaces what was
 * read before and keeps its id. Under the session's row lock.
 */

import type { Query } from '../platform/db/pool.ts'
import type { NewId } from '../platform/ids.ts'
import type { Rating } from './model.ts'
import type { SessionScope } from './walk.store.ts'

/** Sequence, revision and time are those of the event that the signal was read from. */
export interface NewSignal {
  readonly source: 'explicit_feedback' | 'qualitative_inference'
  readonly kind: string
  readonly externalEventId: string
  readonly targetEventExternalId: string | null
  readonly rating: Rating | null
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly participantExternalId: string | null
}

export async function writeSignals(
  tx: Query,
  { organizationId, applicationId, sessionId }: SessionScope,
  newId: NewId,
  signals: readonly NewSignal[],
): Promise<void> {
  if (signals.length === 0) return
  const rows = signals.map((signal) => ({ ...signal, id: newId() }))
  await tx`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, labels, comment, external_event_id,
      target_event_external_id, sequence, revision, participant_external_id, occurred_at
    )
    select
      n.id, e.organization_id, ${applicationId}, e.session_id, n.source, n.kind, n.rating, n.labels, n.comment,
      e.external_event_id, n."targetEventExternalId", e.sequence, e.revision, n."participantExternalId", e.occurred_at
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as n (
      id uuid, source text, kind text, rating text, labels jsonb, comment text, "externalEventId" text,
      "targetEventExternalId" text, "participantExternalId" text
    )
    join agent_event e
      on e.organization_id = ${organizationId}
      and e.session_id = ${sessionId}
      and e.external_event_id = n."externalEventId"
    on conflict (session_id, external_event_id, source, kind) do update set
      rating = excluded.rating,
      labels = excluded.labels,
      comment = excluded.comment,
      target_event_external_id = excluded.target_event_external_id,
      revision = excluded.revision,
      participant_external_id = excluded.participant_external_id,
      occurred_at = excluded.occurred_at,
      updated_at = now()`
}

/** Makes `signals` all that is inferred from the given events. */
export async function replaceInferences(
  tx: Query,
  scope: SessionScope,
  newId: NewId,
  eventIds: readonly string[],
  signals: readonly NewSignal[],
): Promise<void> {
  if (eventIds.length === 0) return
  await Promise.all([
    tx`
      delete from agent_signal
      where organization_id = ${scope.organizationId}
        and session_id = ${scope.sessionId}
        and source = 'qualitative_inference'
        and external_event_id = any(${eventIds as string[]}::text[])
        and (external_event_id, kind) not in (
          select * from unnest(
            ${signals.map((signal) => signal.externalEventId)}::text[],
            ${signals.map((signal) => signal.kind)}::text[]
          )
        )`,
    writeSignals(tx, scope, newId, signals),
  ])
}
