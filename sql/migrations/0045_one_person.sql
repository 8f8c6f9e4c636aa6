-- One person on every channel: participants of conversations are people, and two people can become one.

-- The row of a person who was merged into another one. It stays until everything that refers to it has been moved.
alter table person add column merged_into bigint references person (id) on delete cascade;
create index person_merged_into on person (merged_into) where merged_into is not null;

-- The ids, the address and the names of people who were merged. The ids go on resolving, and whoever sends the address means the person
-- who was kept. The names are what an erasure looks for.
create table person_alias (
  organization_id uuid not null references organization (id) on delete cascade,
  person_id bigint not null references person (id) on delete cascade,   -- who was kept
  former_id bigint primary key,          -- the id of the feedback interface
  former_public_id uuid not null unique,
  email text,
  first_name text,
  last_name text,
  created_at timestamptz not null default now()
);
create unique index person_alias_email on person_alias (organization_id, lower(email)) where email is not null;
create index person_alias_person on person_alias (person_id);

-- Who a participant of a conversation is. The session's actor writes the rows.
create table agent_session_person (
  organization_id uuid not null,
  session_id uuid not null references agent_session (id) on delete cascade,
  participant_external_id text not null, -- '': the participant has none
  person_id bigint not null references person (id) on delete cascade,
  -- The only participant who is no member of the organization: messages that name no participant are theirs.
  sole boolean not null,
  occurred_at timestamptz not null,      -- when the session was created: the order of a timeline
  primary key (session_id, participant_external_id, person_id)
);
create index agent_session_person_timeline on agent_session_person (person_id, occurred_at desc, session_id desc);

-- The hash of the participants whose people are known; null: none. Where it differs from that of `participants`, the next turn looks again.
alter table agent_session add column linked_participants bigint;

-- The person who spoke.
alter table agent_signal add column if not exists person_id bigint references person (id) on delete set null;

create function agent_signal_person() returns trigger language plpgsql as $$
begin
  select l.person_id into new.person_id
  from agent_session_person l
  where l.session_id = new.session_id
    and (l.participant_external_id = new.participant_external_id or (new.participant_external_id is null and l.sole))
  order by l.person_id
  limit 1;
  return new;
end $$;
create trigger agent_signal_person before insert on agent_signal
  for each row when (new.session_id is not null and new.person_id is null)
  execute function agent_signal_person();
create trigger agent_signal_other_participant before update of participant_external_id on agent_signal
  for each row when (new.session_id is not null and new.participant_external_id is distinct from old.participant_external_id)
  execute function agent_signal_person();

-- When the recording began: the order of a timeline. Null until a data change has written it.
alter table recording_participant add column occurred_at timestamptz;
create function recording_participant_time() returns trigger language plpgsql as $$
begin
  select coalesce(r.started_at, r.created_at) into new.occurred_at from recording r where r.id = new.recording_id;
  return new;
end $$;
create trigger recording_participant_time before insert on recording_participant
  for each row execute function recording_participant_time();
create function recording_time_changed() returns trigger language plpgsql as $$
begin
  update recording_participant set occurred_at = coalesce(new.started_at, new.created_at) where recording_id = new.id;
  return null;
end $$;
create trigger recording_time_changed after update of started_at on recording
  for each row when (new.started_at is distinct from old.started_at)
  execute function recording_time_changed();

-- A request names a person for one speaker only (rule 6 of recordings), which the code checks. Two people of one recording may become one.
alter table recording_participant drop constraint recording_participant_recording_id_person_id_key;
