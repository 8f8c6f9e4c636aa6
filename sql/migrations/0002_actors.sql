-- The actor runtime: mailboxes, ownership and fencing numbers. See src/actors/README.md for the protocol.

create table worker (                    -- one row per worker thread; an id is never reused
  id text primary key,
  heartbeat_at timestamptz not null default now()
);

create table actor (
  key text primary key,                  -- '<kind>:<uuid>'
  mail bigint not null default 0,        -- number of the newest message
  epoch bigint not null default 0,       -- fencing number: rises at every activation, is never reset
  owner text                             -- worker.id, null when idle
) with (fillfactor = 70);
-- No index on anything but the key, and room in every page: then claim, release and send rewrite a row in place
-- (heap-only tuples) and touch no index. Who owns what is asked by way of the due messages instead.

create table actor_message (
  key text not null references actor (key) on delete cascade,
  seq bigint not null,
  type text not null,
  payload jsonb not null default '{}',   -- ids and decisions; large bodies stay in their own tables
  available_at timestamptz not null default now(),
  attempts int not null default 0,
  last_error text,
  primary key (key, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
create index actor_message_due on actor_message (available_at);

create table actor_dead_letter (
  key text not null references actor (key) on delete cascade,
  seq bigint not null,
  type text not null,
  payload jsonb not null,
  attempts int not null,
  last_error text,
  parked_at timestamptz not null default now(),
  primary key (key, seq)
);

create table maintenance (               -- work by the clock: whoever moves started_at does it
  name text primary key,
  started_at timestamptz not null default now()
);
