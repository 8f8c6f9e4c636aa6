-- An erasure takes what was received before it was requested. So what can name a person says when it was received. Null: before this
-- column existed.

alter table recording
  add column named_at timestamptz,
  add column summarized_at timestamptz,
  -- Rises when the words of the transcript change. A summary of other words is not stored.
  add column words_version bigint not null default 0;

alter table metadata_value add column set_at timestamptz;
alter table metadata_value alter column set_at set default now();

-- When a request changed participants or context last.
alter table agent_session add column described_at timestamptz;
alter table agent_session alter column described_at set default now();

-- Of the first span that was received of the trace.
alter table otlp_trace add column first_span_at timestamptz;
alter table otlp_trace alter column first_span_at set default now();

alter table coding_session add column labelled_at timestamptz;
alter table coding_session_upload add column created_at timestamptz;
alter table coding_session_upload alter column created_at set default now();
alter table coding_session_event add column stored_at timestamptz;
alter table coding_session_event alter column stored_at set default now();

-- Sessions whose participants an erasure has replaced. What stands there now was received later. Deleted when the erasure is finished.
create table agent_session_erasure (
  erasure_id uuid not null references person_erasure (id) on delete cascade,
  organization_id uuid not null,
  session_id uuid not null,
  -- New external ids of the participants, and their names in this session.
  aliases jsonb not null,
  names jsonb not null,
  -- The pass in which it was found.
  pass int not null,
  primary key (erasure_id, session_id)
);

-- What comes from a file that was received before asks which erasures run.
create index person_erasure_running on person_erasure (organization_id, requested_at) where finished_at is null;
