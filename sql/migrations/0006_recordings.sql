-- Recordings with their folders, participants, metadata values and transcripts.

create table folder (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  -- null: shared by the organization. A private folder holds its owner back: who deletes a user says what becomes of it.
  owner_user_id uuid references app_user (id),
  name text not null,
  created_at timestamptz not null default now()
);
create index folder_list on folder (organization_id, created_at desc, id desc);
create index folder_owner on folder (owner_user_id) where owner_user_id is not null;

-- A user's group of uploads. A key of the organization has none.
create table upload_batch (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  created_at timestamptz not null default now()
);
create index upload_batch_list on upload_batch (user_id, organization_id, created_at desc, id desc);

create table recording (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  created_by_user_id uuid references app_user (id) on delete set null,
  display_name text,
  source text not null,
  started_at timestamptz,
  completed_at timestamptz,
  summary text,
  -- 'api': given by the caller, never overwritten; 'automatic': made when the transcript completed
  summary_source text check (summary_source in ('api', 'automatic')),
  -- null: no media was ever asked for and none is awaited
  asset_status text check (asset_status in
    ('waiting', 'queued', 'uploading', 'processing', 'completed', 'failed', 'cancelled')),
  asset_error_code text,
  asset_source_url text,                 -- of `assetUrl`; never given out
  asset_object_key text,                 -- in the object store; names are never reused
  asset_duration_seconds double precision,
  asset_is_audio boolean,
  asset_content_type text,
  asset_file_size bigint,
  transcript_status text not null check (transcript_status in
    ('waiting', 'queued', 'processing', 'completed', 'failed')),
  transcript_source text check (transcript_source in ('api', 'automatic')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index recording_list on recording (organization_id, created_at desc, id desc);
-- The other half of full-text search, beside transcript_search.
create index recording_display_name on recording using gin (to_tsvector('simple', coalesce(display_name, '')));

-- A recording in no folder is seen by the whole organization: a folder does not go while it holds recordings, which would
-- publish private ones. Deferred, since with an organization go both, and the folders first.
create table recording_folder (
  organization_id uuid not null,
  recording_id uuid not null references recording (id) on delete cascade,
  folder_id uuid not null references folder (id) deferrable initially deferred,
  primary key (recording_id, folder_id)
);
create index recording_folder_folder on recording_folder (folder_id, recording_id);

create table recording_participant (
  organization_id uuid not null,
  recording_id uuid not null references recording (id) on delete cascade,
  speaker bigint not null,
  person_id bigint not null references person (id) on delete cascade,
  primary key (recording_id, speaker),
  unique (recording_id, person_id)
);

create table metadata_record (
  id uuid primary key,
  organization_id uuid not null,
  source_id uuid not null references metadata_source (id) on delete cascade,
  recording_id uuid not null references recording (id) on delete cascade,
  external_id text,
  created_at timestamptz not null default now(),
  constraint metadata_record_external_id unique (source_id, external_id),
  unique (recording_id, source_id)
);

create table metadata_value (
  organization_id uuid not null,
  record_id uuid not null references metadata_record (id) on delete cascade,
  field_id uuid not null references metadata_field (id) on delete cascade,
  value jsonb not null,                  -- JSON null where the value is null
  primary key (record_id, field_id)
);

-- No foreign key: 10,000 rows are written in one COPY, always in the transaction that holds their recording's row.
create table transcript_utterance (
  organization_id uuid not null,
  recording_id uuid not null,
  ordinal int not null,                  -- stored order, from 0
  start_sec double precision not null,
  end_sec double precision not null,
  speaker bigint not null,
  text text not null,
  primary key (recording_id, ordinal)
);

-- Full-text search: the transcript in parts, since one tsvector is limited to 1 MB. Filled by the recording's actor.
create table transcript_search (
  organization_id uuid not null,
  recording_id uuid not null references recording (id) on delete cascade,
  part int not null,
  document tsvector not null,
  primary key (recording_id, part)
);
create index transcript_search_document on transcript_search using gin (document);
