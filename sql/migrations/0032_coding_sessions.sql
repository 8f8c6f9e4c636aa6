-- Sessions of coding agents, normalised from their files (specification, "upload-agent-session").

create table coding_session (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- The owner. null: uploaded with a key of the organization, and visible to all of it.
  user_id uuid references app_user (id) on delete cascade,
  agent text not null,
  -- The agent's own id of the session.
  external_session_id text not null,
  title text,
  repo text,
  branch text,
  commit_sha text,
  started_at timestamptz,
  ended_at timestamptz,
  -- Counts of the rows of coding_session_event, kept by the transactions that write these rows.
  event_count bigint not null default 0,
  message_count bigint not null default 0,
  tool_call_count bigint not null default 0,
  file_edit_count bigint not null default 0,
  -- Tokens, without those of inherited events.
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  reasoning_tokens bigint not null default 0,
  -- Of the latest upload.
  skipped_lines bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique nulls not distinct (organization_id, user_id, agent, external_session_id)
);
create index coding_session_list on coding_session (organization_id, created_at desc, id desc);
create index coding_session_user on coding_session (user_id) where user_id is not null;

-- No foreign key to coding_session: a session may have a million events, which are deleted in batches after it. Events are
-- written only under the lock of their session's row.
create table coding_session_event (
  organization_id uuid not null references organization (id) on delete cascade,
  session_id uuid not null,
  -- Computed from the agent's own ids, so the same event has the same id in every upload and in forks.
  event_id uuid not null,
  -- The order within the session.
  position bigint not null,
  -- The number of records that the event was put together from. A higher one replaces a lower one.
  revision int not null,
  kind text not null check (kind in ('message', 'reasoning', 'tool_call', 'tool_result', 'usage', 'summary', 'notice')),
  role text not null check (role in ('user', 'assistant', 'system', 'tool')),
  occurred_at timestamptz,
  model text,
  -- Of a sub-agent.
  sidechain boolean not null,
  -- Came from the history of another session, which counts its tokens.
  inherited boolean not null,
  -- The user went back to a point before it.
  undone boolean not null default false,
  body jsonb not null,
  tool_calls int not null,
  file_edits int not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (session_id, event_id)
);
create index coding_session_event_position on coding_session_event (session_id, position, event_id);
create index coding_session_event_id on coding_session_event (organization_id, event_id);
