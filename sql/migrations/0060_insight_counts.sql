-- How many signals, sessions, feedback records, recordings and outcomes there are of each day.
--
-- Every change of a row adds a row to `insight_count_change` in the same transaction, so no transaction waits for another. A job adds
-- these changes to `insight_count`. A count is the sum of both.

create table insight_count_change (
  organization_id uuid not null,
  metric text not null,
  day date not null,                     -- in UTC
  channel text not null,
  application_id uuid,                   -- of a conversation
  source text,                           -- of a recording; id of the source of a feedback record
  kind text,
  rating text,
  status text,                           -- of a session; the outcome in 'outcomes'
  product_area text,
  agent_version text,
  change int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
create index insight_count_change_day on insight_count_change (organization_id, metric, day);

create table insight_dimension (
  id int generated always as identity primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  key uuid not null,                     -- hash of the members below
  channel text not null,
  application_id uuid,
  source text,
  kind text,
  rating text,
  status text,
  product_area text,
  agent_version text,
  unique (organization_id, key)
);

create table insight_count (
  organization_id uuid not null references organization (id) on delete cascade,
  metric text not null,
  detailed boolean not null,             -- false: area and version are left out, so that most counts read few rows
  day date not null,
  dimension_id int not null,
  count int not null,
  primary key (organization_id, metric, detailed, day, dimension_id)
);
create index insight_count_zero on insight_count (organization_id) where count = 0;

-- Null: stored before this migration and not counted yet. A data change sets it, and the triggers count the row.
alter table agent_signal add column counted boolean;
alter table agent_signal alter column counted set default true;
alter table agent_session add column counted boolean;
alter table agent_session alter column counted set default true;
alter table feedback_record add column counted boolean;
alter table feedback_record alter column counted set default true;
alter table recording add column counted boolean;
alter table recording alter column counted set default true;
alter table insight_subject add column counted boolean;
alter table insight_subject alter column counted set default true;

-- Of a conversation: as they were when its outcome was found.
alter table insight_subject add column product_area text, add column agent_version text;

create function insight_subject_place() returns trigger language plpgsql as $$
begin
  select s.context ->> 'productArea', s.agent_version
  into new.product_area, new.agent_version
  from agent_session s
  where s.organization_id = new.organization_id and s.id = new.session_id;
  return new;
end
$$;
create trigger insight_subject_place before insert or update of outcome, analyzer_version on insight_subject
  for each row when (new.session_id is not null and new.outcome is not null)
  execute function insight_subject_place();

-- Signals that are shown.
create function count_signals() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'signals', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
      r.product_area, r.agent_version, count(*)
    from added r
    where r.counted and r.shown
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'signals', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
      r.product_area, r.agent_version, -count(*)
    from removed r
    where r.counted and r.shown
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'signals', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
      r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted and r.shown;
  end if;
  return null;
end
$$;
create trigger count_signals_added after insert on agent_signal referencing new table as added
  for each statement execute function count_signals();
create trigger count_signals_removed after delete on agent_signal referencing old table as removed
  for each statement execute function count_signals();
create trigger count_signals_changed after update on agent_signal
  for each row when (
    (old.occurred_at, old.channel, old.application_id, old.kind, old.rating, old.product_area, old.agent_version, old.shown, old.counted)
    is distinct from
    (new.occurred_at, new.channel, new.application_id, new.kind, new.rating, new.product_area, new.agent_version, new.shown, new.counted)
  )
  execute function count_signals();

-- Sessions, by the time at which their first event arrived.
create function count_sessions() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (r.created_at at time zone 'UTC')::date, 'conversation', r.application_id, null::text, null::text, null::text, r.status,
      r.context ->> 'productArea', r.agent_version, count(*)
    from added r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (r.created_at at time zone 'UTC')::date, 'conversation', r.application_id, null::text, null::text, null::text, r.status,
      r.context ->> 'productArea', r.agent_version, -count(*)
    from removed r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', (r.created_at at time zone 'UTC')::date, 'conversation', r.application_id, null::text, null::text, null::text, r.status,
      r.context ->> 'productArea', r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;
create trigger count_sessions_added after insert on agent_session referencing new table as added
  for each statement execute function count_sessions();
create trigger count_sessions_removed after delete on agent_session referencing old table as removed
  for each statement execute function count_sessions();
create trigger count_sessions_changed after update on agent_session
  for each row when (
    (old.created_at, old.application_id, old.status, old.agent_version, old.context ->> 'productArea', old.counted)
    is distinct from
    (new.created_at, new.application_id, new.status, new.agent_version, new.context ->> 'productArea', new.counted)
  )
  execute function count_sessions();

-- Feedback records, with the id of their source.
create function count_feedback() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'feedback', (r.display_ts at time zone 'UTC')::date, 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
      null::text, null::text, count(*)
    from added r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'feedback', (r.display_ts at time zone 'UTC')::date, 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
      null::text, null::text, -count(*)
    from removed r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'feedback', (r.display_ts at time zone 'UTC')::date, 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
      null::text, null::text, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;
create trigger count_feedback_added after insert on feedback_record referencing new table as added
  for each statement execute function count_feedback();
create trigger count_feedback_removed after delete on feedback_record referencing old table as removed
  for each statement execute function count_feedback();
create trigger count_feedback_changed after update on feedback_record
  for each row when (
    (old.display_ts, old.feedback_source_id, old.counted)
    is distinct from
    (new.display_ts, new.feedback_source_id, new.counted)
  )
  execute function count_feedback();

-- Recordings, by the time at which they began.
create function count_recordings() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'recordings', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'recording', null::uuid, r.source, null::text, null::text, null::text,
      null::text, null::text, count(*)
    from added r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'recordings', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'recording', null::uuid, r.source, null::text, null::text, null::text,
      null::text, null::text, -count(*)
    from removed r
    where r.counted
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'recordings', (coalesce(r.started_at, r.created_at) at time zone 'UTC')::date, 'recording', null::uuid, r.source, null::text, null::text, null::text,
      null::text, null::text, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;
create trigger count_recordings_added after insert on recording referencing new table as added
  for each statement execute function count_recordings();
create trigger count_recordings_removed after delete on recording referencing old table as removed
  for each statement execute function count_recordings();
create trigger count_recordings_changed after update on recording
  for each row when (
    (old.started_at, old.created_at, old.source, old.counted)
    is distinct from
    (new.started_at, new.created_at, new.source, new.counted)
  )
  execute function count_recordings();

-- Outcomes of what was analysed.
create function count_outcomes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'outcomes', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
      r.product_area, r.agent_version, count(*)
    from added r
    where r.counted and r.outcome is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'outcomes', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
      r.product_area, r.agent_version, -count(*)
    from removed r
    where r.counted and r.outcome is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'outcomes', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
      r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted and r.outcome is not null;
  end if;
  return null;
end
$$;
create trigger count_outcomes_added after insert on insight_subject referencing new table as added
  for each statement execute function count_outcomes();
create trigger count_outcomes_removed after delete on insight_subject referencing old table as removed
  for each statement execute function count_outcomes();
create trigger count_outcomes_changed after update on insight_subject
  for each row when (
    (old.occurred_at, old.channel, old.application_id, old.outcome, old.product_area, old.agent_version, old.counted)
    is distinct from
    (new.occurred_at, new.channel, new.application_id, new.outcome, new.product_area, new.agent_version, new.counted)
  )
  execute function count_outcomes();

-- There is nothing to count in an empty table.
insert into data_change (name, rows_total, finished_at)
select 'count_signals', 0, now() where not exists (select from agent_signal)
union all
select 'count_sessions', 0, now() where not exists (select from agent_session)
union all
select 'count_feedback', 0, now() where not exists (select from feedback_record)
union all
select 'count_recordings', 0, now() where not exists (select from recording)
union all
select 'count_outcomes', 0, now() where not exists (select from insight_subject);
