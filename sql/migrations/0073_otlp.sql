-- Traces that arrive as OpenTelemetry spans. Their spans come in several requests, so they are kept until the trace is complete.
create table otlp_trace (
  application_id uuid not null references agent_application (id) on delete cascade,
  trace_id text not null,
  organization_id uuid not null references organization (id) on delete cascade,
  -- Whether the root of the trace has arrived.
  has_root boolean not null,
  -- When its first span began.
  started_at timestamptz not null,
  last_span_at timestamptz not null default now(),
  -- When its messages are made. null: all spans are in messages.
  due_at timestamptz,
  -- Of its pieces.
  bytes bigint not null,
  primary key (application_id, trace_id)
);
create index otlp_trace_due on otlp_trace (due_at) where due_at is not null;
create index otlp_trace_due_of_application on otlp_trace (application_id, due_at) where due_at is not null;
create index otlp_trace_last_span on otlp_trace (last_span_at);
create index otlp_trace_organization on otlp_trace (organization_id);

-- The spans of a trace in one request.
create table otlp_piece (
  id uuid primary key,
  application_id uuid not null,
  trace_id text not null,
  organization_id uuid not null references organization (id) on delete cascade,
  spans jsonb not null,
  foreign key (application_id, trace_id) references otlp_trace (application_id, trace_id) on delete cascade
);
create index otlp_piece_trace on otlp_piece (application_id, trace_id);
create index otlp_piece_organization on otlp_piece (organization_id);
