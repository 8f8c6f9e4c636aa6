-- Signals of every channel: where in the product they were said, and webhooks about them.

-- A signal of a conversation has the area of its message, or of its session, and the version of the agent.
create function agent_signal_place() returns trigger language plpgsql as $$
begin
  select
    coalesce(new.agent_version, s.agent_version),
    coalesce(new.product_area, e.body #>> '{context,productArea}', s.context ->> 'productArea')
  into new.agent_version, new.product_area
  from agent_session s
  left join agent_event e
    on e.organization_id = s.organization_id and e.session_id = s.id and e.external_event_id = new.external_event_id
  where s.organization_id = new.organization_id and s.id = new.session_id;
  return new;
end
$$;
create trigger agent_signal_place before insert on agent_signal
  for each row when (new.session_id is not null and (new.agent_version is null or new.product_area is null))
  execute function agent_signal_place();

-- The members of `GET /v3/rest/signals/{id}` with `applicationId` and `path`.
create or replace function webhook_signal(s agent_signal) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', s.id, 'channel', s.channel,
    'applicationId', s.application_id, 'agentKey', a.agent_key,
    'sessionId', s.session_id, 'externalSessionId', c.external_session_id,
    'recordId', s.feedback_record_id, 'feedbackSourceId', f.feedback_source_id, 'recordingId', s.recording_id,
    'source', s.source, 'kind', s.kind, 'rating', s.rating, 'labels', s.labels, 'comment', s.comment,
    'confidence', round(s.confidence::numeric, 2)::float8,
    'evidence', case when s.analyzer_name is not null then
      jsonb_strip_nulls(jsonb_build_object(
        'quote', s.comment, 'messageId', s.external_event_id, 'recordId', s.feedback_record_id, 'field', s.field,
        'recordingId', s.recording_id, 'startSec', s.start_sec
      ))
    end,
    'analyzer', case when s.analyzer_name is not null then
      jsonb_build_object('name', s.analyzer_name, 'version', s.analyzer_version)
    end,
    'externalEventId', s.external_event_id, 'targetEventExternalId', s.target_event_external_id,
    'sequence', s.sequence, 'revision', s.revision, 'participantExternalId', s.participant_external_id
  ) || jsonb_build_object(
    'productArea', coalesce(s.product_area, c.context ->> 'productArea'),
    'agentVersion', coalesce(s.agent_version, c.agent_version),
    'personId', w.public_id,
    'occurredAt', webhook_time(s.occurred_at), 'createdAt', webhook_time(s.created_at), 'updatedAt', webhook_time(s.updated_at),
    'path', '/v3/rest/signals/' || s.id
  )
  from (select s.organization_id) o
  left join agent_session c on c.organization_id = o.organization_id and c.id = s.session_id
  left join agent_application a on a.organization_id = o.organization_id and a.id = s.application_id
  left join feedback_record f on f.organization_id = o.organization_id and f.id = s.feedback_record_id
  left join person w on w.organization_id = o.organization_id and w.id = s.person_id
$$;

create or replace function webhook_signal_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created where shown) c
    cross join lateral (select from webhook w where w.organization_id = c.organization_id limit 1) w
  ) then
    perform webhook_emit(
      g.organization_id, 'signal.created', webhook_signal(g::agent_signal), array['comment', 'labels', 'evidence']
    )
    from (select * from created where shown order by id) g;
  end if;
  return null;
end
$$;

-- A signal that is shown from now on is created for its receivers.
create or replace function webhook_signal_updated() returns trigger
language plpgsql
as $$
begin
  if new.shown and exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(
      new.organization_id, case when old.shown then 'signal.updated' else 'signal.created' end, webhook_signal(new),
      array['comment', 'labels', 'evidence']
    );
  end if;
  return null;
end
$$;

drop trigger webhook_signal_updated on agent_signal;
create trigger webhook_signal_updated after update on agent_signal
for each row when (
  (old.kind, old.rating, old.labels, old.comment, old.target_event_external_id, old.participant_external_id, old.sequence,
    old.revision, old.occurred_at, old.shown, old.field, old.start_sec)
  is distinct from
  (new.kind, new.rating, new.labels, new.comment, new.target_event_external_id, new.participant_external_id, new.sequence,
    new.revision, new.occurred_at, new.shown, new.field, new.start_sec)
)
execute function webhook_signal_updated();
