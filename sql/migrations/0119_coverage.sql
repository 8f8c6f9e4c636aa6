-- What was read: of every conversation, feedback record and recording whether it was analysed, and why not. What has no coverage waits.

-- 'no_words': there is nothing that the customer said. The look at every row comes later (0120), because it would block writes here.
alter table insight_subject
  drop constraint insight_subject_state_check,
  add constraint insight_subject_state_check
    check (state in ('pending', 'analyzed', 'failed', 'not_supported', 'no_words')) not valid,
  -- 'stated': a shown finding quotes words of the customer that say the outcome. 'inferred': the analyser infers it.
  add column outcome_basis text,
  add constraint insight_subject_outcome_basis_check check (outcome_basis in ('stated', 'inferred')) not valid,
  -- Triggers write it. Null: it waits; its session or recording is not read at all; or an older version stored it.
  add column coverage text,
  add constraint insight_subject_coverage_check check (coverage in ('read', 'not_read')) not valid;

-- 'not_read': nothing of it is read, whatever was read before. Null: its row of `insight_subject` tells.
alter table agent_session
  add column coverage text,
  add constraint agent_session_coverage_check check (coverage = 'not_read') not valid;
alter table recording
  add column coverage text,
  add constraint recording_coverage_check check (coverage = 'not_read') not valid;

create function session_coverage(processing_status text) returns text language sql immutable as $$
  select case when processing_status in ('capture_disabled', 'billing_blocked') then 'not_read' end
$$;

-- No transcript, and none is coming.
create function recording_coverage(transcript_status text, asset_status text) returns text language sql immutable as $$
  select case
    when transcript_status = 'failed' or (transcript_status = 'waiting' and coalesce(asset_status, 'failed') in ('completed', 'failed', 'cancelled'))
    then 'not_read'
  end
$$;

create function write_coverage() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'agent_session' then
    new.coverage := session_coverage(new.processing_status);
  elsif tg_table_name = 'recording' then
    new.coverage := recording_coverage(new.transcript_status, new.asset_status);
  else
    if tg_op = 'INSERT' then
      -- A change of the session or recording that has not ended would not see this row, so it is awaited.
      perform from agent_session s where s.organization_id = new.organization_id and s.id = new.session_id for share;
      perform from recording r where r.organization_id = new.organization_id and r.id = new.recording_id for share;
    end if;
    if exists (
      select from agent_session s
      where s.organization_id = new.organization_id and s.id = new.session_id and s.coverage is not null
    ) or exists (
      select from recording r
      where r.organization_id = new.organization_id and r.id = new.recording_id and r.coverage is not null
    ) then
      new.coverage := null;
      return new;
    end if;
    new.coverage := case new.state when 'pending' then null when 'analyzed' then 'read' else 'not_read' end;
  end if;
  return new;
end
$$;
create trigger session_coverage_added before insert on agent_session
  for each row when (new.processing_status in ('capture_disabled', 'billing_blocked'))
  execute function write_coverage();
create trigger session_coverage before update of processing_status on agent_session
  for each row when ((new.processing_status in ('capture_disabled', 'billing_blocked')) <> (new.coverage is not null))
  execute function write_coverage();
create trigger recording_coverage before insert or update of transcript_status, asset_status on recording
  for each row execute function write_coverage();
create trigger insight_subject_coverage before insert or update of state on insight_subject
  for each row execute function write_coverage();

-- Conversations have the area and the version also where they have no outcome.
drop trigger insight_subject_place on insight_subject;
create trigger insight_subject_place before insert or update of outcome, analyzer_version on insight_subject
  for each row when (new.session_id is not null)
  execute function insight_subject_place();

-- What was read of a session or a recording counts as long as it is read.
create function subject_coverage() returns trigger language plpgsql as $$
begin
  if tg_table_name = 'agent_session' then
    update insight_subject set state = state where organization_id = new.organization_id and session_id = new.id;
  else
    update insight_subject set state = state where organization_id = new.organization_id and recording_id = new.id;
  end if;
  return null;
end
$$;
create trigger subject_coverage after update of processing_status on agent_session
  for each row when (new.coverage is distinct from old.coverage) execute function subject_coverage();
create trigger subject_coverage after update of transcript_status, asset_status on recording
  for each row when (new.coverage is distinct from old.coverage) execute function subject_coverage();

create function count_subject_coverage() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into insight_count_change (
      organization_id, metric, day, channel, application_id, source,
      kind, rating, status, product_area, agent_version, change
    )
    select
      r.organization_id, 'coverage', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text,
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
      r.organization_id, 'coverage', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text,
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
      r.organization_id, 'coverage', (r.occurred_at at time zone 'UTC')::date, r.channel, r.application_id, null::text, null::text, null::text,
      r.coverage, r.product_area, r.agent_version, r.change
    from (select old.*, -1 as change union all select new.*, 1) r
    where r.coverage is not null;
  end if;
  return null;
end
$$;
create trigger count_subject_coverage_added after insert on insight_subject referencing new table as added
  for each statement execute function count_subject_coverage();
create trigger count_subject_coverage_removed after delete on insight_subject referencing old table as removed
  for each statement execute function count_subject_coverage();
create trigger count_subject_coverage_changed after update on insight_subject
  for each row when (
    (old.occurred_at, old.application_id, old.coverage, old.product_area, old.agent_version)
    is distinct from
    (new.occurred_at, new.application_id, new.coverage, new.product_area, new.agent_version)
  )
  execute function count_subject_coverage();

-- Few sessions and recordings have a coverage, so these count by row.
create function note_coverage(
  organization uuid, at timestamptz, channel text, application uuid, area text, version text, coverage text, change int
) returns void language sql as $$
  insert into insight_count_change (
    organization_id, metric, day, channel, application_id, status, product_area, agent_version, change
  )
  select organization, 'coverage', (at at time zone 'UTC')::date, channel, application, coverage, area, version, change
  where coverage is not null
$$;
create function count_session_coverage() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform note_coverage(
      old.organization_id, coalesce(old.started_at, old.created_at), 'conversation', old.application_id,
      old.context ->> 'productArea', old.agent_version, old.coverage, -1
    );
  end if;
  if tg_op <> 'DELETE' then
    perform note_coverage(
      new.organization_id, coalesce(new.started_at, new.created_at), 'conversation', new.application_id,
      new.context ->> 'productArea', new.agent_version, new.coverage, 1
    );
  end if;
  return null;
end
$$;
create trigger count_session_coverage_added after insert on agent_session
  for each row when (new.coverage is not null) execute function count_session_coverage();
create trigger count_session_coverage_removed after delete on agent_session
  for each row when (old.coverage is not null) execute function count_session_coverage();
create trigger count_session_coverage_changed after update on agent_session
  for each row when (
    (old.coverage is not null or new.coverage is not null)
    and (coalesce(old.started_at, old.created_at), old.context ->> 'productArea', old.agent_version, old.coverage)
    is distinct from
    (coalesce(new.started_at, new.created_at), new.context ->> 'productArea', new.agent_version, new.coverage)
  )
  execute function count_session_coverage();

create function count_recording_coverage() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform note_coverage(
      old.organization_id, coalesce(old.started_at, old.created_at), 'recording', null, null, null, old.coverage, -1
    );
  end if;
  if tg_op <> 'DELETE' then
    perform note_coverage(
      new.organization_id, coalesce(new.started_at, new.created_at), 'recording', null, null, null, new.coverage, 1
    );
  end if;
  return null;
end
$$;
create trigger count_recording_coverage_added after insert on recording
  for each row when (new.coverage is not null) execute function count_recording_coverage();
create trigger count_recording_coverage_removed after delete on recording
  for each row when (old.coverage is not null) execute function count_recording_coverage();
create trigger count_recording_coverage_changed after update on recording
  for each row when (
    (old.coverage is not null or new.coverage is not null)
    and (coalesce(old.started_at, old.created_at), old.coverage)
    is distinct from
    (coalesce(new.started_at, new.created_at), new.coverage)
  )
  execute function count_recording_coverage();

-- There is nothing to count in an empty table. Subjects come last, because they follow sessions and recordings.
insert into data_change (name, rows_total, finished_at)
select 'coverage_of_sessions', 0, now() where not exists (select from agent_session)
union all
select 'coverage_of_recordings', 0, now() where not exists (select from recording)
union all
select 'coverage_of_subjects', 0, now() where not exists (select from insight_subject);
