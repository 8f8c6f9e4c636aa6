-- Projects of coding agents with their sessions, and what the Model Context Protocol server remembers of older clients.

create table project (
  id uuid primary key,                   -- `publicId`
  organization_id uuid not null references organization (id) on delete cascade,
  -- The caller's key, such as the address of a repository. The same key is the same project.
  external_key text,
  name text not null,
  description text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint project_external_key unique (organization_id, external_key)
);
create index project_list on project (organization_id, created_at desc, id desc);

create table project_session (
  organization_id uuid not null,
  project_id uuid not null references project (id) on delete cascade,
  session_id uuid not null references coding_session (id) on delete cascade,
  created_at timestamptz not null default now(),
  primary key (project_id, session_id)
);
create index project_session_list on project_session (project_id, created_at desc, session_id desc);
create index project_session_session on project_session (session_id);

-- A client of a protocol version before 2026-07-28 that can ask its user. Newer clients have no session.
create table mcp_session (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  protocol_version text not null,
  capabilities jsonb not null,
  created_at timestamptz not null default now(),
  used_at timestamptz not null default now()
);
create index mcp_session_user on mcp_session (organization_id, user_id, used_at desc);
create index mcp_session_used on mcp_session (used_at);

-- A question to the user of such a client. The process that asked may be another one than that which gets the answer.
create table mcp_question (
  id uuid primary key,
  organization_id uuid not null,
  user_id uuid not null,
  session_id uuid not null references mcp_session (id) on delete cascade,
  answer jsonb,                          -- the JSON-RPC response without its id; null: not answered yet
  created_at timestamptz not null default now()
);
create index mcp_question_session on mcp_question (session_id);
create index mcp_question_created on mcp_question (created_at);
