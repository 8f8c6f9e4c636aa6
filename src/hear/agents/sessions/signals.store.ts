/**
 * The SQL that writes signals, under the session's row lock. There is one signal for an event, a source and a kind. A signal of
 * a revised event replaces the earlier one and keeps its id.
 */

import type { Query } from '../../../platform/db/pool.ts'
import type { NewId } from '../../../platform/ids.ts'
import type { Rating, SignalKind, SignalSource } from '../model.ts'
import { numbered, type PerSession, scopesOf, sessionTable } from './session-table.store.ts'

/** A signal to write. It takes sequence, revision and time from its event. */
export interface NewSignal {
  readonly source: SignalSource
  readonly kind: SignalKind
  readonly externalEventId: string
  readonly targetEventExternalId: string | null
  readonly rating: Rating | null
  readonly labels: readonly string[]
  readonly comment: string | null
  readonly participantExternalId: string | null
}

/** Writes signals of any number of sessions. */
export async function writeSignals(
  tx: Query,
  newId: NewId,
  parts: readonly PerSession<NewSignal>[],
): Promise<void> {
  const rows = parts.flatMap(({ rows: signals }, index) =>
    signals.map((signal) => ({ ...signal, id: newId(), n: index + 1 })),
  )
  if (rows.length === 0) return
  await tx`
    insert into agent_signal (
      id, organization_id, application_id, session_id, source, kind, rating, labels, comment, external_event_id,
      target_event_external_id, sequence, revision, participant_external_id, occurred_at
    )
    select
      r.id, s.organization_id, s.application_id, s.session_id, r.source, r.kind, r.rating, r.labels, r.comment,
      r."externalEventId", r."targetEventExternalId", e.sequence, e.revision, r."participantExternalId", e.occurred_at
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (
      n int, id uuid, source text, kind text, rating text, labels jsonb, comment text, "externalEventId" text,
      "targetEventExternalId" text, "participantExternalId" text
    )
    join ${sessionTable(tx, scopesOf(parts))} using (n)
    cross join lateral (
      select e.sequence, e.revision, e.occurred_at
      from agent_event e
      where e.organization_id = s.organization_id
        and e.session_id = s.session_id
        and e.external_event_id = r."externalEventId"
      limit 1
    ) e
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

/** Deletes the explicit-feedback signals of events, by event id. */
export async function deleteFeedback(tx: Query, parts: readonly PerSession<string>[]): Promise<void> {
  const { ns, rows } = numbered(parts)
  if (rows.length === 0) return
  await tx`
    delete from agent_signal g
    using unnest(${ns}::int[], ${rows as string[]}::text[]) as e (n, id)
    join ${sessionTable(tx, scopesOf(parts))} using (n)
    where g.organization_id = s.organization_id
      and g.session_id = s.session_id
      and g.external_event_id = e.id
      and g.source = 'explicit_feedback'`
}
