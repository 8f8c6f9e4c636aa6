-- Organizations, users and every credential. Secrets are kept only as SHA-256 digests.

create table organization (
  id uuid primary key,
  name text not null,
  -- false: agent ingestion answers 404 "Agent Chats not enabled for the workspace"
  agent_chats_enabled boolean not null default true,
  -- false: a meeting join answers 401 "organization not allowed to record"
  recording_allowed boolean not null default true,
  -- remaining `agent_response_processed` units; null: unlimited
  response_credits bigint check (response_credits >= 0),
  created_at timestamptz not null default now()
);

create table app_user (
  id uuid primary key,
  email text not null,
  name text not null,
  created_at timestamptz not null default now()
);
create unique index app_user_email on app_user (lower(email));

create table membership (
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index membership_user on membership (user_id);

create table api_key (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  prefix text not null,                -- readable first characters, safe to show
  hash bytea not null unique,          -- SHA-256 of the whole key
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index api_key_organization on api_key (organization_id);

create table credit_entry (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  amount bigint not null,              -- units added; null balance on the organization means unlimited
  note text,
  created_at timestamptz not null default now()
);
create index credit_entry_organization on credit_entry (organization_id, created_at);
