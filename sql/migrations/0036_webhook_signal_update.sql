-- Cheaper triggers for organizations without a webhook.
--
-- The event `signal.updated` comes from a trigger for each changed signal. The former trigger ran for each statement that stores signals,
-- also where it updated none.

drop trigger webhook_signal_updated on agent_signal;
drop function webhook_signal_updated();

create function webhook_signal_updated() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, 'signal.updated', webhook_signal(new), array['comment', 'labels']);
  end if;
  return null;
end
$$;

create trigger webhook_signal_updated after update on agent_signal
for each row when (
  (old.kind, old.rating, old.labels, old.comment, old.target_event_external_id, old.participant_external_id, old.sequence,
    old.revision, old.occurred_at)
  is distinct from
  (new.kind, new.rating, new.labels, new.comment, new.target_event_external_id, new.participant_external_id, new.sequence,
    new.revision, new.occurred_at)
)
execute function webhook_signal_updated();

-- The look for webhooks comes first, once for each organization of the statement. Turns of actors forbid scans and keep their plans; in
-- the former form, each signal then cost as much as the look.
create or replace function webhook_signal_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created) c
    cross join lateral (select from webhook w where w.organization_id = c.organization_id limit 1) w
  ) then
    perform webhook_emit(g.organization_id, 'signal.created', webhook_signal(g::agent_signal), array['comment', 'labels'])
    from (select * from created order by id) g;
  end if;
  return null;
end
$$;

create or replace function webhook_feedback_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created) c
    cross join lateral (select from webhook w where w.organization_id = c.organization_id limit 1) w
  ) then
    perform webhook_emit(
      r.organization_id, 'feedback_record.created',
      jsonb_build_object(
        'id', r.id, 'sourceId', r.feedback_source_id, 'personId', r.person_id, 'externalId', r.external_id,
        'displayTs', webhook_time(r.display_ts), 'fields', r.fields, 'createdAt', webhook_time(r.created_at),
        'path', '/v3/rest/feedback-sources/' || r.feedback_source_id || '/records/' || r.id
      ),
      array['fields']
    )
    from (select * from created order by id) r;
  end if;
  return null;
end
$$;
