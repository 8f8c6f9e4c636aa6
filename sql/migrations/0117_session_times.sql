-- What a person sees by time is when it was said, not when it arrived: a session has the times of its first and its last event.

-- Null: stored by an older version. A data change fills them, and the next turn of the session does.
alter table agent_session add column started_at timestamptz, add column ended_at timestamptz;

-- Sessions, by the time at which they began.
create or replace function count_sessions() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'conversation', r.application_id, null::text,
      null::text, null::text, r.status, r.context ->> 'productArea', r.agent_version, count(*)
    from added r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'conversation', r.application_id, null::text,
      null::text, null::text, r.status, r.context ->> 'productArea', r.agent_version, -count(*)
    from removed r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'conversation', r.application_id, null::text,
      null::text, null::text, r.status, r.context ->> 'productArea', r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;
drop trigger count_sessions_changed on agent_session;
create trigger count_sessions_changed after update on agent_session
  for each row when (
    (
      coalesce(old.started_at, old.created_at), old.application_id, old.status, old.agent_version, old.context ->> 'productArea',
      old.counted
    )
    is distinct from
    (
      coalesce(new.started_at, new.created_at), new.application_id, new.status, new.agent_version, new.context ->> 'productArea',
      new.counted
    )
  )
  execute function count_sessions();

-- The outcome and the timelines of people have the time of the session. Whoever writes it holds the session's lock.
create function session_time_changed() returns trigger language plpgsql as $$
begin
  update insight_subject
  set occurred_at = coalesce(new.started_at, new.created_at)
  where organization_id = new.organization_id and session_id = new.id;
  update agent_session_person
  set occurred_at = coalesce(new.started_at, new.created_at)
  where organization_id = new.organization_id and session_id = new.id;
  return null;
end
$$;
create trigger session_time_changed after update of started_at on agent_session
  for each row when (coalesce(new.started_at, new.created_at) <> coalesce(old.started_at, old.created_at))
  execute function session_time_changed();

create or replace function webhook_session(session uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', s.id, 'applicationId', s.application_id, 'agentKey', a.agent_key, 'externalSessionId', s.external_session_id,
    'status', s.status, 'processingStatus', s.processing_status, 'environment', s.environment, 'agentVersion', s.agent_version,
    'startedAt', webhook_time(coalesce(s.started_at, s.created_at)), 'endedAt', webhook_time(coalesce(s.ended_at, s.created_at)),
    'createdAt', webhook_time(s.created_at), 'lastActivityAt', webhook_time(s.last_activity_at),
    'path', '/v3/rest/agent-conversations/sessions/' || s.id
  )
  from agent_session s
  join agent_application a on a.organization_id = s.organization_id and a.id = s.application_id
  where s.id = session
$$;

-- There is nothing to fill in an empty table.
insert into data_change (name, rows_total, finished_at)
select 'session_times', 0, now() where not exists (select from agent_session);
