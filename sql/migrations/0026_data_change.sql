-- Progress of data changes that run in the background while the service works.
create table data_change (
  name text primary key,
  -- Primary key of the last changed row, as text; null: not started.
  position text,
  rows_done bigint not null default 0,
  -- An estimate.
  rows_total bigint not null,
  -- The process that works on it, until it stops renewing the lease.
  runner uuid,
  leased_until timestamptz,
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
