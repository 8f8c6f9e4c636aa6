-- Meeting joins: a recorder's bot joins a meeting on behalf of a user.

-- A row outlives its recording until the bot has left and the recorder has deleted its copy, so it has no foreign keys.
create table meeting_join (
  id uuid primary key,                   -- the recorder's bot carries it
  organization_id uuid not null,
  recording_id uuid not null unique,
  recorder text not null,
  platform text not null check (platform in ('zoom', 'google_meet', 'teams', 'webex')),
  identity text not null,                -- equal for all links of one meeting; holds no password
  status text not null check (status in
    ('scheduled', 'joining', 'waiting_room', 'recording', 'processing', 'ended', 'failed')),
  status_since timestamptz not null default now(),
  error_code text,
  sealed_url bytea,                      -- with the password; null once no recorder needs it
  bot_name text not null,
  join_at timestamptz,
  joined_at timestamptz,
  ended_at timestamptz,
  join_sent_at timestamptz,              -- written before the recorder is asked to join
  bot_id text,                           -- the recorder's id; null: not known, or none
  leave_requested_at timestamptz,
  leave_sent_at timestamptz,             -- the recorder has accepted that the bot leaves
  -- What is left to do after the end: make the bot leave, wait for the media, delete the recorder's copy. null: nothing.
  duty text check (duty in ('leave', 'media', 'delete')),
  must_delete boolean not null default false, -- also if the recorder's copies are kept otherwise
  failures int not null default 0,       -- failed requests to the recorder in a row
  next_check_at timestamptz,             -- null: nothing is left to do
  created_at timestamptz not null default now()
);

-- One active recording for each meeting of an organization, however many requests arrive at once.
create unique index meeting_join_active on meeting_join (organization_id, identity)
  where status in ('scheduled', 'joining', 'waiting_room', 'recording', 'processing');
create index meeting_join_due on meeting_join (next_check_at) where next_check_at is not null;
create index meeting_join_bot on meeting_join (bot_id) where bot_id is not null;

-- A recorder knows the names of speakers, but not who they are: such a participant has a name and is no person.
alter table recording_participant add column name text;
alter table recording_participant alter column person_id drop not null;
