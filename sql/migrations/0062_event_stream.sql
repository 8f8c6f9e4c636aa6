-- The log behind `GET /v3/rest/stream`: what changed, by ids. docs/decisions/0008-event-stream-log.md gives the reasons.
--
-- Triggers write an entry where its change is committed, but only for organizations with a client within the last hour. They lock nothing
-- and number nothing. A process with clients numbers the committed entries, so a number follows every number that was ever sent.

create table event_stream (              -- only of organizations that have, or had, a client
  organization_id uuid primary key references organization (id) on delete cascade,
  generation text not null,              -- part of the ids of events
  last_seq bigint not null default 0,    -- number of the newest numbered entry
  lost_seq bigint not null default 0,    -- entries up to here may be deleted, or were never written
  is_active boolean not null default true, -- entries are written
  is_complete boolean not null default false, -- every transaction that looked before it was active has ended
  listened_at timestamptz not null default now()
);

create table event_stream_entry (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  seq bigint,                            -- null: not numbered yet
  type text not null,
  application_id uuid,                   -- whose conversation access decides who may see it
  session_id uuid,
  signal_id uuid,
  feedback_source_id bigint,
  feedback_record_id bigint,
  recording_id uuid,                     -- whose folders decide who may see it
  occurred_at timestamptz not null default now()
);
create unique index event_stream_entry_seq on event_stream_entry (organization_id, seq) where seq is not null;
create index event_stream_entry_unnumbered on event_stream_entry (organization_id, id) where seq is null;
create index event_stream_entry_age on event_stream_entry (occurred_at);

create function event_stream_is_active(organization uuid) returns boolean
language sql stable
as $$
  select exists (select from event_stream where organization_id = organization and is_active)
$$;

-- Wakes the processes with clients. Call it before the insert: if an entry waits already, its notification is on the way, and a
-- notification makes commits wait for each other.
create function event_stream_wake(organization uuid) returns void
language plpgsql
set enable_seqscan to off
as $$
begin
  if not exists (select from event_stream_entry where organization_id = organization and seq is null) then
    perform pg_notify('event_stream', organization::text);
  end if;
end
$$;

-- Sessions --------------------------------------------------------------------------------------------------------------------------

create function event_stream_session_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created) c
    cross join lateral (select from event_stream s where s.organization_id = c.organization_id and s.is_active limit 1) s
  ) then
    perform event_stream_wake(c.organization_id)
    from (select distinct organization_id from created) c where event_stream_is_active(c.organization_id);
    insert into event_stream_entry (organization_id, type, application_id, session_id)
    select organization_id, 'agent_session.created', application_id, id
    from created where event_stream_is_active(organization_id) order by id;
  end if;
  return null;
end
$$;
create trigger event_stream_session_created after insert on agent_session
referencing new table as created
for each statement execute function event_stream_session_created();

-- The end and the processing of a session may be changed by one statement.
create function event_stream_session_changed() returns trigger
language plpgsql
as $$
begin
  if exists (select from event_stream where organization_id = new.organization_id and is_active) then
    perform event_stream_wake(new.organization_id);
    insert into event_stream_entry (organization_id, type, application_id, session_id)
    select new.organization_id, 'agent_session.' || change, new.application_id, new.id
    from unnest(array[
      case when new.status <> old.status and new.status <> 'open' then new.status end,
      case when new.processing_status = 'completed' and old.processing_status <> 'completed' then 'processed' end
    ]) as change
    where change is not null;
  end if;
  return null;
end
$$;
create trigger event_stream_session_changed after update of status, processing_status on agent_session
for each row when (
  (new.status <> old.status and new.status <> 'open')
  or (new.processing_status = 'completed' and old.processing_status <> 'completed')
)
execute function event_stream_session_changed();

-- Signals, of every channel ---------------------------------------------------------------------------------------------------------

create function event_stream_signal_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created where shown) c
    cross join lateral (select from event_stream s where s.organization_id = c.organization_id and s.is_active limit 1) s
  ) then
    perform event_stream_wake(c.organization_id)
    from (select distinct organization_id from created where shown) c where event_stream_is_active(c.organization_id);
    insert into event_stream_entry (
      organization_id, type, application_id, session_id, signal_id, feedback_record_id, recording_id
    )
    select organization_id, 'signal.created', application_id, session_id, id, feedback_record_id, recording_id
    from created where shown and event_stream_is_active(organization_id) order by id;
  end if;
  return null;
end
$$;
create trigger event_stream_signal_created after insert on agent_signal
referencing new table as created
for each statement execute function event_stream_signal_created();

-- A signal that is hidden from now on is an update for clients that know it.
create function event_stream_signal_updated() returns trigger
language plpgsql
as $$
begin
  if exists (select from event_stream where organization_id = new.organization_id and is_active) then
    perform event_stream_wake(new.organization_id);
    insert into event_stream_entry (
      organization_id, type, application_id, session_id, signal_id, feedback_record_id, recording_id
    )
    values (
      new.organization_id, case when old.shown then 'signal.updated' else 'signal.created' end, new.application_id, new.session_id,
      new.id, new.feedback_record_id, new.recording_id
    );
  end if;
  return null;
end
$$;
create trigger event_stream_signal_updated after update on agent_signal
for each row when (
  (old.shown or new.shown)
  and (old.kind, old.rating, old.labels, old.comment, old.shown) is distinct from (new.kind, new.rating, new.labels, new.comment, new.shown)
)
execute function event_stream_signal_updated();

-- Feedback --------------------------------------------------------------------------------------------------------------------------

create function event_stream_feedback_created() returns trigger
language plpgsql
as $$
begin
  if exists (
    select
    from (select distinct organization_id from created) c
    cross join lateral (select from event_stream s where s.organization_id = c.organization_id and s.is_active limit 1) s
  ) then
    perform event_stream_wake(c.organization_id)
    from (select distinct organization_id from created) c where event_stream_is_active(c.organization_id);
    insert into event_stream_entry (organization_id, type, feedback_source_id, feedback_record_id)
    select organization_id, 'feedback_record.created', feedback_source_id, id
    from created where event_stream_is_active(organization_id) order by id;
  end if;
  return null;
end
$$;
create trigger event_stream_feedback_created after insert on feedback_record
referencing new table as created
for each statement execute function event_stream_feedback_created();

-- Recordings ------------------------------------------------------------------------------------------------------------------------

create function event_stream_recording_created() returns trigger
language plpgsql
as $$
begin
  if exists (select from event_stream where organization_id = new.organization_id and is_active) then
    perform event_stream_wake(new.organization_id);
    insert into event_stream_entry (organization_id, type, recording_id)
    values (new.organization_id, 'recording.created', new.id);
  end if;
  return null;
end
$$;
create trigger event_stream_recording_created after insert on recording
for each row execute function event_stream_recording_created();

-- New media that replaces other media changes the key, or leaves an error, beside the status `completed`.
create function event_stream_recording_changed() returns trigger
language plpgsql
as $$
begin
  if exists (select from event_stream where organization_id = new.organization_id and is_active) then
    perform event_stream_wake(new.organization_id);
    insert into event_stream_entry (organization_id, type, recording_id)
    select new.organization_id, 'recording.' || change, new.id
    from unnest(array[
      case
        when (new.asset_status, new.asset_object_key, new.asset_error_code)
          is distinct from (old.asset_status, old.asset_object_key, old.asset_error_code) then 'asset.changed'
      end,
      case when new.transcript_status <> old.transcript_status then 'transcript.changed' end
    ]) as change
    where change is not null;
  end if;
  return null;
end
$$;
create trigger event_stream_recording_changed
after update of asset_status, asset_object_key, asset_error_code, transcript_status on recording
for each row when (
  (new.asset_status, new.asset_object_key, new.asset_error_code, new.transcript_status)
  is distinct from (old.asset_status, old.asset_object_key, old.asset_error_code, old.transcript_status)
)
execute function event_stream_recording_changed();
