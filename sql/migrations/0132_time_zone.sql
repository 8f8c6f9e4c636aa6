-- Days are those of the organization's time zone.
--
-- A row that is counted knows the day under which it is counted, so a change of the time zone never leaves a count without its row: a job
-- moves row by row to its new day, and the triggers that count see each of these changes.

-- A name of the IANA time zone database.
alter table organization add column time_zone text not null default 'UTC';

-- Null: the day in UTC.
alter table agent_signal add column counted_day date;
alter table agent_session add column counted_day date;
alter table feedback_record add column counted_day date;
alter table recording add column counted_day date;
alter table insight_subject add column counted_day date;

-- Organizations whose time zone changed, and how far their rows have moved to the new days.
create table day_recount (
  organization_id uuid primary key references organization (id) on delete cascade,
  changed_at timestamptz not null default clock_timestamp(),
  waits_for text[],                      -- transactions that may know the former time zone; null: not looked yet
  part smallint not null default 0,      -- the table
  position text[]                        -- time and id of the last row of it; null: none yet
);

create function day_of(counted_day date, moment timestamptz) returns date language sql immutable as $$
  select coalesce(counted_day, (moment at time zone 'UTC')::date)
$$;

create function counted_day(organization uuid, moment timestamptz) returns date language sql stable as $$
  select case when o.time_zone <> 'UTC' then (moment at time zone o.time_zone)::date end
  from organization o
  where o.id = organization
$$;

create function write_counted_day() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'feedback_record' then
    new.counted_day := counted_day(new.organization_id, new.display_ts);
  elsif tg_table_name in ('agent_session', 'recording') then
    new.counted_day := counted_day(new.organization_id, coalesce(new.started_at, new.created_at));
  else
    new.counted_day := counted_day(new.organization_id, new.occurred_at);
  end if;
  return new;
end
$$;
create trigger agent_signal_day before insert or update of occurred_at on agent_signal
  for each row execute function write_counted_day();
create trigger agent_session_day before insert or update of started_at on agent_session
  for each row execute function write_counted_day();
create trigger feedback_record_day before insert or update of display_ts on feedback_record
  for each row execute function write_counted_day();
create trigger recording_day before insert or update of started_at on recording
  for each row execute function write_counted_day();
create trigger insight_subject_day before insert or update of occurred_at on insight_subject
  for each row execute function write_counted_day();

create function recount_days() returns trigger language plpgsql as $$
begin
  insert into day_recount (organization_id) values (new.id)
  on conflict (organization_id) do update
  set changed_at = clock_timestamp(), waits_for = null, part = 0, position = null;
  -- The same Monday, so that no week has two mails or none.
  update weekly_mail
  set next_at = ((next_at at time zone old.time_zone)::date + time '07:00') at time zone new.time_zone
  where organization_id = new.id;
  return null;
end
$$;
create trigger organization_time_zone after update of time_zone on organization
  for each row when (new.time_zone <> old.time_zone) execute function recount_days();

create or replace function count_signals() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'signals', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
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
      r.organization_id, 'signals', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
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
      r.organization_id, 'signals', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, r.kind, r.rating, null::text,
      r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted and r.shown;
  end if;
  return null;
end
$$;

create or replace function count_sessions() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'sessions', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'conversation', r.application_id, null::text,
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
      r.organization_id, 'sessions', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'conversation', r.application_id, null::text,
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
      r.organization_id, 'sessions', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'conversation', r.application_id, null::text,
      null::text, null::text, r.status, r.context ->> 'productArea', r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;

create or replace function count_feedback() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'feedback', day_of(r.counted_day, r.display_ts), 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
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
      r.organization_id, 'feedback', day_of(r.counted_day, r.display_ts), 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
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
      r.organization_id, 'feedback', day_of(r.counted_day, r.display_ts), 'feedback', null::uuid, r.feedback_source_id::text, null::text, null::text, null::text,
      null::text, null::text, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;

create or replace function count_recordings() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'recordings', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'recording', null::uuid, r.source, null::text, null::text, null::text,
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
      r.organization_id, 'recordings', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'recording', null::uuid, r.source, null::text, null::text, null::text,
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
      r.organization_id, 'recordings', day_of(r.counted_day, coalesce(r.started_at, r.created_at)), 'recording', null::uuid, r.source, null::text, null::text, null::text,
      null::text, null::text, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted;
  end if;
  return null;
end
$$;

create or replace function count_outcomes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'outcomes', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
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
      r.organization_id, 'outcomes', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
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
      r.organization_id, 'outcomes', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text, r.outcome,
      r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.counted and r.outcome is not null;
  end if;
  return null;
end
$$;

create or replace function count_subject_coverage() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'coverage', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text,
      r.coverage, r.product_area, r.agent_version, count(*)
    from added r
    where r.coverage is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  elsif tg_op = 'DELETE' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'coverage', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text,
      r.coverage, r.product_area, r.agent_version, -count(*)
    from removed r
    where r.coverage is not null
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;
  else
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'coverage', day_of(r.counted_day, r.occurred_at), r.channel, r.application_id, null::text, null::text, null::text,
      r.coverage, r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.coverage is not null;
  end if;
  return null;
end
$$;

create function note_coverage(
  organization uuid, day date, channel text, application uuid, area text, version text, coverage text, change int
) returns void language sql as $$
  insert into insight_count_change (
    organization_id, metric, day, channel, application_id, status, product_area, agent_version, change
  )
  select organization, 'coverage', day, channel, application, coverage, area, version, change
  where coverage is not null
$$;
create or replace function count_session_coverage() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform note_coverage(
      old.organization_id, day_of(old.counted_day, coalesce(old.started_at, old.created_at)), 'conversation', old.application_id,
      old.context ->> 'productArea', old.agent_version, old.coverage, -1
    );
  end if;
  if tg_op <> 'DELETE' then
    perform note_coverage(
      new.organization_id, day_of(new.counted_day, coalesce(new.started_at, new.created_at)), 'conversation', new.application_id,
      new.context ->> 'productArea', new.agent_version, new.coverage, 1
    );
  end if;
  return null;
end
$$;
create or replace function count_recording_coverage() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform note_coverage(
      old.organization_id, day_of(old.counted_day, coalesce(old.started_at, old.created_at)), 'recording', null, null, null,
      old.coverage, -1
    );
  end if;
  if tg_op <> 'DELETE' then
    perform note_coverage(
      new.organization_id, day_of(new.counted_day, coalesce(new.started_at, new.created_at)), 'recording', null, null, null,
      new.coverage, 1
    );
  end if;
  return null;
end
$$;
drop function note_coverage(uuid, timestamptz, text, uuid, text, text, text, int);

-- A row that moves to another day is counted there, also where nothing else of it changes.
drop trigger count_signals_changed on agent_signal;
create trigger count_signals_changed after update on agent_signal
  for each row when (
    (
      old.counted_day, old.occurred_at, old.channel, old.application_id, old.kind, old.rating, old.product_area, old.agent_version,
      old.shown, old.counted
    ) is distinct from (
      new.counted_day, new.occurred_at, new.channel, new.application_id, new.kind, new.rating, new.product_area, new.agent_version,
      new.shown, new.counted
    )
  )
  execute function count_signals();
drop trigger count_sessions_changed on agent_session;
create trigger count_sessions_changed after update on agent_session
  for each row when (
    (
      old.counted_day, coalesce(old.started_at, old.created_at), old.application_id, old.status, old.agent_version,
      old.context ->> 'productArea', old.counted
    ) is distinct from (
      new.counted_day, coalesce(new.started_at, new.created_at), new.application_id, new.status, new.agent_version,
      new.context ->> 'productArea', new.counted
    )
  )
  execute function count_sessions();
drop trigger count_feedback_changed on feedback_record;
create trigger count_feedback_changed after update on feedback_record
  for each row when (
    (
      old.counted_day, old.display_ts, old.feedback_source_id, old.counted
    ) is distinct from (
      new.counted_day, new.display_ts, new.feedback_source_id, new.counted
    )
  )
  execute function count_feedback();
drop trigger count_recordings_changed on recording;
create trigger count_recordings_changed after update on recording
  for each row when (
    (
      old.counted_day, old.started_at, old.created_at, old.source, old.counted
    ) is distinct from (
      new.counted_day, new.started_at, new.created_at, new.source, new.counted
    )
  )
  execute function count_recordings();
drop trigger count_outcomes_changed on insight_subject;
create trigger count_outcomes_changed after update on insight_subject
  for each row when (
    (
      old.counted_day, old.occurred_at, old.channel, old.application_id, old.outcome, old.product_area, old.agent_version, old.counted
    ) is distinct from (
      new.counted_day, new.occurred_at, new.channel, new.application_id, new.outcome, new.product_area, new.agent_version, new.counted
    )
  )
  execute function count_outcomes();
drop trigger count_subject_coverage_changed on insight_subject;
create trigger count_subject_coverage_changed after update on insight_subject
  for each row when (
    (
      old.counted_day, old.occurred_at, old.application_id, old.coverage, old.product_area, old.agent_version
    ) is distinct from (
      new.counted_day, new.occurred_at, new.application_id, new.coverage, new.product_area, new.agent_version
    )
  )
  execute function count_subject_coverage();
drop trigger count_session_coverage_changed on agent_session;
create trigger count_session_coverage_changed after update on agent_session
  for each row when (
    (old.coverage is not null or new.coverage is not null)
    and (
      old.counted_day, coalesce(old.started_at, old.created_at), old.context ->> 'productArea', old.agent_version, old.coverage
    ) is distinct from (
      new.counted_day, coalesce(new.started_at, new.created_at), new.context ->> 'productArea', new.agent_version, new.coverage
    )
  )
  execute function count_session_coverage();
drop trigger count_recording_coverage_changed on recording;
create trigger count_recording_coverage_changed after update on recording
  for each row when (
    (old.coverage is not null or new.coverage is not null)
    and (
      old.counted_day, coalesce(old.started_at, old.created_at), old.coverage
    ) is distinct from (
      new.counted_day, coalesce(new.started_at, new.created_at), new.coverage
    )
  )
  execute function count_recording_coverage();

-- Themes are counted by the days of this time zone. A job counts them again when the organization has another one.
alter table theme_progress add column time_zone text not null default 'UTC';
