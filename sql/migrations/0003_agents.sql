-- Agent conversations: applications and their settings, sessions of events, signals, and the billing ledger.

create table agent_application (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  agent_key text not null,
  name text not null,
  settings_version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (organization_id, agent_key)
);

-- Every version is kept: an event is re-judged under the settings that it was sanitised with.
create table agent_application_settings (
  organization_id uuid not null,
  application_id uuid not null references agent_application (id) on delete cascade,
  version int not null,
  settings jsonb not null,
  created_at timestamptz not null default now(),
  primary key (application_id, version)
);

create table agent_secret (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  application_id uuid not null references agent_application (id) on delete cascade,
  prefix text not null,
  hash bytea not null unique,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index agent_secret_application on agent_secret (application_id);

create table agent_session (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  application_id uuid not null references agent_application (id) on delete cascade,
  external_session_id text not null,
  status text not null check (status in ('open', 'ended', 'abandoned')),
  processing_status text not null check (processing_status in
    ('pending', 'processing', 'completed', 'failed', 'billing_blocked', 'capture_disabled')),
  agent_version text,
  source jsonb,
  context jsonb,
  environment text,
  participants jsonb not null default '[]',
  -- Every sequence up to here has been walked by the session's actor; -1: none yet.
  watermark bigint not null default -1,
  -- Gaps below this sequence were declared permanent by the idle time-out; null: never.
  gaps_permanent_through bigint,
  -- Set while an open session waits at a gap: when the idle time-out will declare it permanent.
  gap_deadline timestamptz,
  last_activity_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (application_id, external_session_id)
) with (fillfactor = 70);                -- every ingest updates the row: room for it on the same page (HOT)
create index agent_session_list on agent_session (organization_id, created_at desc, id desc);
create index agent_session_application on agent_session (application_id, created_at desc, id desc);
create index agent_session_gap on agent_session (gap_deadline) where gap_deadline is not null;

-- No foreign key to agent_session: rows are only ever written under the session's row lock, and the check
-- costs a lookup per event on the hottest path. Deleting a session deletes its events in the same statement.
create table agent_event (
  organization_id uuid not null,
  session_id uuid not null,
  external_event_id text not null,
  sequence bigint not null,
  revision bigint not null,
  type text not null,
  final boolean not null,
  occurred_at timestamptz not null,
  -- content, model, usage, trace, feedback, context, participantExternalId as they were sanitised
  body jsonb not null,
  fingerprint bytea not null,            -- SHA-256 of the sanitised event
  settings_version int not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (session_id, external_event_id),
  unique (session_id, sequence)
);

create table agent_event_revision (      -- superseded revisions, as they were
  organization_id uuid not null,
  session_id uuid not null,
  external_event_id text not null,
  revision bigint not null,
  final boolean not null,
  occurred_at timestamptz not null,
  body jsonb not null,
  fingerprint bytea not null,
  settings_version int not null,
  created_at timestamptz not null,
  replaced_at timestamptz not null default now(),
  primary key (session_id, external_event_id, revision)
);

-- Events at or below the watermark that came late or were revised: the actor goes back for these.
create table agent_revisit (
  organization_id uuid not null,
  session_id uuid not null,
  external_event_id text not null,
  primary key (session_id, external_event_id)
);

-- Visible finalised assistant responses on their way through metering and analysis.
create table agent_response (
  organization_id uuid not null,
  application_id uuid not null,
  session_id uuid not null,
  external_event_id text not null,
  sequence bigint not null,
  revision bigint not null,
  -- Rises when the response or what its reader said around it changed: an analysis of an older one is not accepted.
  version int not null default 1,
  state text not null check (state in ('billing_blocked', 'metered', 'analyzed', 'failed')),
  updated_at timestamptz not null default now(),
  primary key (session_id, external_event_id)
);
create index agent_response_open on agent_response (session_id, sequence) where state <> 'analyzed';
create index agent_response_blocked on agent_response (organization_id, session_id) where state = 'billing_blocked';

-- The billing ledger: one unit per response, ever. Outlives the session.
create table agent_usage (
  organization_id uuid not null,
  application_id uuid not null,
  session_id uuid not null,
  external_event_id text not null,
  unit text not null,                    -- 'agent_response_processed'
  created_at timestamptz not null default now(),
  primary key (session_id, external_event_id, unit)
);
create index agent_usage_application on agent_usage (organization_id, application_id, created_at);

create table agent_signal (
  id uuid primary key,
  organization_id uuid not null,
  application_id uuid not null,
  session_id uuid not null references agent_session (id) on delete cascade,
  source text not null check (source in ('explicit_feedback', 'qualitative_inference')),
  kind text not null,
  rating text check (rating in ('positive', 'negative')),
  labels jsonb not null default '[]',
  comment text,
  external_event_id text not null,       -- the event the signal was read from
  target_event_external_id text,         -- the assistant response it is about
  sequence bigint not null,
  revision bigint not null,
  participant_external_id text,
  occurred_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (session_id, external_event_id, source, kind)
);
create index agent_signal_list on agent_signal (organization_id, created_at desc, id desc);
create index agent_signal_session on agent_signal (session_id, sequence, id);
