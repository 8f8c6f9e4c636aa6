-- Outbound webhooks: subscriptions, the events that they are about, deliveries and their attempts.
--
-- Triggers write the events, so that an event exists exactly where the change that it reports is committed, whichever code made the
-- change. docs/decisions/0007-webhook-events-by-trigger.md gives the reasons.
--
-- The events of an organization are numbered in the order of their commits. The numbering runs at the end of the transaction, after
-- every other statement, so it locks last: the stream of the organization, then the mailboxes of its subscriptions.

create table webhook_stream (            -- only of organizations that have, or had, a subscription
  organization_id uuid primary key references organization (id) on delete cascade,
  last_seq bigint not null default 0     -- number of the newest event
);

create table webhook (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  url text not null,
  types text[] not null,                 -- '*': all
  description text,
  ordering text not null default 'relaxed' check (ordering in ('relaxed', 'strict')),
  enabled boolean not null default true,
  disabled_reason text check (disabled_reason in ('request', 'gone', 'failing')),
  disabled_at timestamptz,
  -- Every event up to here was attempted, or is not for this subscription.
  cursor bigint not null,
  failing_since timestamptz,             -- first failure since the last success
  paused_until timestamptz,              -- the receiver asked for a pause (Retry-After)
  recoverable_since timestamptz,         -- enabled again: events after this may be missing at the receiver
  secret bytea not null,                 -- sealed
  previous_secret bytea,                 -- sealed; also signs until previous_secret_until
  previous_secret_until timestamptz,
  -- Rises with every change that a delivery must notice.
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index webhook_organization on webhook (organization_id, created_at desc, id desc);

create table webhook_event (
  id uuid primary key default gen_random_uuid(),
  organization_id uuid not null references organization (id) on delete cascade,
  position bigint generated always as identity, -- order within the transaction
  seq bigint,                            -- order of the organization; null until the end of the transaction
  webhook_id uuid,                       -- null: for every subscription of this type
  type text not null,
  occurred_at timestamptz not null default now(),
  data jsonb not null
);
create unique index webhook_event_seq on webhook_event (organization_id, seq);
create index webhook_event_unnumbered on webhook_event (organization_id, position) where seq is null;
create index webhook_event_age on webhook_event (occurred_at);

create table webhook_delivery (
  id uuid primary key,
  organization_id uuid not null,
  webhook_id uuid not null references webhook (id) on delete cascade,
  event_id uuid not null references webhook_event (id) on delete cascade,
  type text not null,
  -- pending: is sent again before later events. retrying: is sent again beside later events.
  status text not null check (status in ('pending', 'retrying', 'delivered', 'failed')),
  attempts int not null,                 -- automatic ones since it was queued last
  next_attempt_at timestamptz,
  has_actor boolean not null default false, -- it was sent outside of the order at least once
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (webhook_id, event_id)
);
create index webhook_delivery_list on webhook_delivery (organization_id, webhook_id, created_at desc, id desc);
create index webhook_delivery_event on webhook_delivery (event_id);
create index webhook_delivery_pending on webhook_delivery (webhook_id) where status = 'pending';
create index webhook_delivery_retrying on webhook_delivery (webhook_id) where status = 'retrying';

create table webhook_attempt (
  organization_id uuid not null,
  delivery_id uuid not null references webhook_delivery (id) on delete cascade,
  number int not null,                   -- from 1
  is_manual boolean not null,
  started_at timestamptz not null,
  duration_ms int not null,
  status int,                            -- of the answer; null: there was none
  error text,
  headers jsonb,                         -- of the answer
  body text,                             -- of the answer, its beginning
  primary key (delivery_id, number)
);

-- Events ----------------------------------------------------------------------------------------------------------------------------

create function webhook_wanted(organization uuid, event_type text) returns boolean
language sql stable
as $$
  select exists (
    select from webhook w
    where w.organization_id = organization and (w.types @> array['*'] or w.types @> array[event_type])
  )
$$;

-- Leaves out the members `large` where the data would be too long for a body of 256 KiB, and names them in `omitted`.
create function webhook_emit(organization uuid, event_type text, data jsonb, large text[] default '{}') returns void
language sql
as $$
  insert into webhook_event (organization_id, type, data)
  select organization, event_type,
    case
      when octet_length(data::text) > 250000 then (data - large) || jsonb_build_object('omitted', to_jsonb(large))
      else data
    end
  where webhook_wanted(organization, event_type)
$$;

-- RFC 3339 in UTC, as in answers of the API.
create function webhook_time(moment timestamptz) returns text
language sql stable
as $$
  select to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Numbers the events of the transaction and wakes the subscriptions. The first event does it for all.
create function webhook_number() returns trigger
language plpgsql
as $$
declare
  mine record;
  before bigint;
  receiver record;
  message bigint;
begin
  if not exists (select from webhook_event where id = new.id and seq is null) then
    return null;
  end if;
  -- Events of other transactions are invisible or have their number.
  for mine in
    select organization_id, count(*) as events from webhook_event where seq is null
    group by organization_id order by organization_id
  loop
    update webhook_stream set last_seq = last_seq + mine.events
    where organization_id = mine.organization_id
    returning last_seq - mine.events into before;
    update webhook_event e set seq = before + n.number
    from (
      select id, row_number() over (order by position) as number from webhook_event
      where organization_id = mine.organization_id and seq is null
    ) n
    where e.id = n.id;
    for receiver in
      select w.id from webhook w
      where w.organization_id = mine.organization_id
        and w.enabled
        and exists (
          select from webhook_event e
          where e.organization_id = mine.organization_id and e.seq > before and e.webhook_id is null
            and (w.types @> array['*'] or w.types @> array[e.type])
        )
        -- A waiting message has not been read yet: its turn ends under the lock of the stream.
        and not exists (select from actor_message m where m.key = 'webhook:' || w.id and m.type = 'deliver')
      order by w.id
    loop
      insert into actor_mailbox (key, last_seq, organization_id)
      values ('webhook:' || receiver.id, 1, mine.organization_id)
      on conflict (key) do update set last_seq = actor_mailbox.last_seq + 1
      returning last_seq into message;
      insert into actor_message (key, seq, type, organization_id)
      values ('webhook:' || receiver.id, message, 'deliver', mine.organization_id);
      perform pg_notify(
        'actors_outbound', 'webhook:' || receiver.id || ' ' || message || ' deliver ' || mine.organization_id || chr(10)
      );
    end loop;
  end loop;
  return null;
end
$$;

create constraint trigger webhook_event_number after insert on webhook_event
deferrable initially deferred
for each row when (new.seq is null)
execute function webhook_number();

-- Feedback --------------------------------------------------------------------------------------------------------------------------

create function webhook_feedback_created() returns trigger
language plpgsql
as $$
begin
  perform webhook_emit(
    r.organization_id, 'feedback_record.created',
    jsonb_build_object(
      'id', r.id, 'sourceId', r.feedback_source_id, 'personId', r.person_id, 'externalId', r.external_id,
      'displayTs', webhook_time(r.display_ts), 'fields', r.fields, 'createdAt', webhook_time(r.created_at),
      'path', '/v3/rest/feedback-sources/' || r.feedback_source_id || '/records/' || r.id
    ),
    array['fields']
  )
  from (select * from created order by id) r
  where exists (select from webhook w where w.organization_id = r.organization_id);
  return null;
end
$$;
create trigger webhook_feedback_created after insert on feedback_record
referencing new table as created
for each statement execute function webhook_feedback_created();

-- Signals ---------------------------------------------------------------------------------------------------------------------------

create function webhook_signal(s agent_signal) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', s.id, 'applicationId', s.application_id, 'sessionId', s.session_id, 'source', s.source, 'kind', s.kind, 'rating', s.rating,
    'labels', s.labels, 'comment', s.comment, 'externalEventId', s.external_event_id,
    'targetEventExternalId', s.target_event_external_id, 'participantExternalId', s.participant_external_id,
    'sequence', s.sequence, 'revision', s.revision, 'occurredAt', webhook_time(s.occurred_at),
    'path', '/v3/rest/signals/' || s.id
  )
$$;

create function webhook_signal_created() returns trigger
language plpgsql
as $$
begin
  perform webhook_emit(g.organization_id, 'signal.created', webhook_signal(g::agent_signal), array['comment', 'labels'])
  from (select * from created order by id) g
  where exists (select from webhook w where w.organization_id = g.organization_id);
  return null;
end
$$;
create trigger webhook_signal_created after insert on agent_signal
referencing new table as created
for each statement execute function webhook_signal_created();

create function webhook_signal_updated() returns trigger
language plpgsql
as $$
begin
  perform webhook_emit(g.organization_id, 'signal.updated', webhook_signal(g::agent_signal), array['comment', 'labels'])
  from (select * from changed order by id) g
  join former f on f.id = g.id
  where exists (select from webhook w where w.organization_id = g.organization_id)
    and webhook_signal(g::agent_signal) <> webhook_signal(f::agent_signal);
  return null;
end
$$;
create trigger webhook_signal_updated after update on agent_signal
referencing old table as former new table as changed
for each statement execute function webhook_signal_updated();

-- Sessions --------------------------------------------------------------------------------------------------------------------------

create function webhook_session(session uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', s.id, 'applicationId', s.application_id, 'agentKey', a.agent_key, 'externalSessionId', s.external_session_id,
    'status', s.status, 'processingStatus', s.processing_status, 'environment', s.environment, 'agentVersion', s.agent_version,
    'createdAt', webhook_time(s.created_at), 'lastActivityAt', webhook_time(s.last_activity_at),
    'path', '/v3/rest/agent-conversations/sessions/' || s.id
  )
  from agent_session s
  join agent_application a on a.organization_id = s.organization_id and a.id = s.application_id
  where s.id = session
$$;

-- These run at the end of the transaction and report its final state.
create function webhook_session_ended() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, 'agent_session.' || new.status, d)
    from webhook_session(new.id) d where d is not null;
  end if;
  return null;
end
$$;
create constraint trigger webhook_session_created_ended after insert on agent_session
deferrable initially deferred
for each row when (new.status <> 'open')
execute function webhook_session_ended();
create constraint trigger webhook_session_ended after update of status on agent_session
deferrable initially deferred
for each row when (new.status <> old.status and new.status <> 'open')
execute function webhook_session_ended();

create function webhook_session_processed() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, 'agent_session.processed', d)
    from webhook_session(new.id) d where d ->> 'processingStatus' = 'completed';
  end if;
  return null;
end
$$;
create constraint trigger webhook_session_processed after update of processing_status on agent_session
deferrable initially deferred
for each row when (new.processing_status = 'completed' and old.processing_status <> 'completed')
execute function webhook_session_processed();

-- Recordings ------------------------------------------------------------------------------------------------------------------------

create function webhook_recording(recording_id uuid) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', r.id, 'displayName', r.display_name, 'source', r.source,
    'externalId', (select m.external_id from metadata_record m where m.recording_id = r.id and m.external_id is not null limit 1),
    'startedAt', webhook_time(r.started_at), 'completedAt', webhook_time(r.completed_at),
    'createdAt', webhook_time(r.created_at),
    'asset', case when r.asset_status is not null then jsonb_build_object(
      'status', r.asset_status, 'errorCode', r.asset_error_code, 'durationSeconds', r.asset_duration_seconds,
      'isAudio', r.asset_is_audio, 'contentType', r.asset_content_type, 'fileSize', r.asset_file_size
    ) end,
    'transcript', jsonb_build_object('status', r.transcript_status, 'source', r.transcript_source),
    'path', '/v3/rest/recordings/' || r.id
  )
  from recording r
  where r.id = recording_id
$$;

-- The type of the event is the argument of the trigger.
create function webhook_recording_changed() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, tg_argv[0], d)
    from webhook_recording(new.id) d where d is not null;
  end if;
  return null;
end
$$;
create constraint trigger webhook_recording_created after insert on recording
deferrable initially deferred
for each row execute function webhook_recording_changed('recording.created');
-- Media is published by its key: first media, and media that replaces other media.
create constraint trigger webhook_recording_asset_completed after update of asset_object_key on recording
deferrable initially deferred
for each row when (new.asset_object_key is distinct from old.asset_object_key and new.asset_object_key is not null)
execute function webhook_recording_changed('recording.asset.completed');
-- The second case: media that should replace other media has failed.
create constraint trigger webhook_recording_asset_failed after update of asset_status, asset_error_code on recording
deferrable initially deferred
for each row when (
  (new.asset_status = 'failed' and old.asset_status is distinct from 'failed')
  or (new.asset_status = 'completed' and new.asset_error_code is distinct from old.asset_error_code and new.asset_error_code is not null)
)
execute function webhook_recording_changed('recording.asset.failed');
create constraint trigger webhook_recording_transcript_created after insert on recording
deferrable initially deferred
for each row when (new.transcript_status = 'completed')
execute function webhook_recording_changed('recording.transcript.completed');
create constraint trigger webhook_recording_transcript_completed after update of transcript_status on recording
deferrable initially deferred
for each row when (new.transcript_status = 'completed' and old.transcript_status <> 'completed')
execute function webhook_recording_changed('recording.transcript.completed');
create constraint trigger webhook_recording_transcript_failed after update of transcript_status on recording
deferrable initially deferred
for each row when (new.transcript_status = 'failed' and old.transcript_status <> 'failed')
execute function webhook_recording_changed('recording.transcript.failed');

-- Uploads ---------------------------------------------------------------------------------------------------------------------------

create function webhook_upload_ended() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(
      new.organization_id, 'upload.' || new.phase,
      jsonb_build_object(
        'uploadId', u.id, 'recordingId', u.recording_id, 'phase', u.phase, 'errorCode', u.error_code, 'fileName', u.file_name,
        'fileSize', u.file_size, 'source', u.source, 'createdAt', webhook_time(u.created_at),
        'path', '/v3/rest/recordings/' || u.recording_id || '/uploads/' || u.id
      )
    )
    from upload u where u.id = new.id;
  end if;
  return null;
end
$$;
create constraint trigger webhook_upload_ended after update of phase on upload
deferrable initially deferred
for each row when (new.phase <> old.phase and new.phase in ('ready', 'failed', 'cancelled'))
execute function webhook_upload_ended();
