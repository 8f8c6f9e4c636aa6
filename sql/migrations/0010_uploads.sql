-- Direct uploads, and what is made of media besides the object that is played.

create table upload (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  recording_id uuid not null references recording (id) on delete cascade,
  -- null: created with a key of the organization
  user_id uuid references app_user (id) on delete set null,
  phase text not null check (phase in ('waiting', 'processing', 'encoding', 'ready', 'failed', 'cancelled')),
  error_code text check (error_code in ('upload_failed', 'upload_expired', 'processing_failed')),
  encode_progress smallint check (encode_progress between 0 and 100),
  file_name text not null,
  file_size bigint not null check (file_size > 0),
  source text not null,
  folder_id uuid,
  batch_id uuid,
  origin text,                           -- of the page that created it: the only one that may read answers to its requests
  token_hash bytea not null unique,      -- SHA-256 of the capability in `uploadUrl`
  object_key text not null,
  bytes_received bigint not null default 0, -- durable: acknowledged, or could be
  -- The newest request wins: each takes the next number, and nothing is recorded under an older one.
  writer bigint not null default 0,
  writer_process uuid,                   -- in which a request is writing; null: none is
  store_memory jsonb,                    -- what the object store needs to go on
  expires_at timestamptz not null,       -- slides while bytes arrive
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- A recording permits one active media ingestion.
create unique index upload_active on upload (recording_id) where phase in ('waiting', 'processing', 'encoding');
create index upload_recording on upload (recording_id);
create index upload_due on upload (expires_at) where phase = 'waiting';

-- Of stores that take objects in parts: what an upload consists of so far.
create table upload_part (
  organization_id uuid not null,
  upload_id uuid not null references upload (id) on delete cascade,
  number int not null,
  size bigint not null,
  etag text not null,
  primary key (upload_id, number)
);

-- What an upload that has ended may have left in the object store: entered by the transaction that ends it.
create table upload_garbage (
  object_key text primary key,
  organization_id uuid not null,         -- no foreign key: outlives what it belonged to
  store_memory jsonb,
  delete_after timestamptz not null,
  -- Deleted once already: the second time, later, is for a request of another process that still wrote then.
  again boolean not null default false
);
create index upload_garbage_due on upload_garbage (delete_after);

alter table recording
  add column asset_source_key text,      -- of the original, where what is played was encoded from it
  add column asset_waveform_key text,
  add column asset_poster_key text;
