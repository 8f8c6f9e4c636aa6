-- Webhooks hear of the signals that `GET /v3/rest/signals` lists: those of conversations that are shown.

create or replace function webhook_signal_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created where shown and session_id is not null) c
    cross join lateral (select from webhook w where w.organization_id = c.organization_id limit 1) w
  ) then
    perform webhook_emit(g.organization_id, 'signal.created', webhook_signal(g::agent_signal), array['comment', 'labels'])
    from (select * from created where shown and session_id is not null order by id) g;
  end if;
  return null;
end
$$;

-- A signal that is shown from now on is created for its receivers.
create or replace function webhook_signal_updated() returns trigger
language plpgsql
as $$
begin
  if new.shown and new.session_id is not null and exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(
      new.organization_id, case when old.shown then 'signal.updated' else 'signal.created' end, webhook_signal(new),
      array['comment', 'labels']
    );
  end if;
  return null;
end
$$;

drop trigger webhook_signal_updated on agent_signal;
create trigger webhook_signal_updated after update on agent_signal
for each row when (
  (old.kind, old.rating, old.labels, old.comment, old.target_event_external_id, old.participant_external_id, old.sequence,
    old.revision, old.occurred_at, old.shown)
  is distinct from
  (new.kind, new.rating, new.labels, new.comment, new.target_event_external_id, new.participant_external_id, new.sequence,
    new.revision, new.occurred_at, new.shown)
)
execute function webhook_signal_updated();
