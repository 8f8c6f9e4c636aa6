-- Files of coding-agent sessions come by the same uploads as media, but belong to no recording.
alter table upload alter column recording_id drop not null;

create table coding_session_upload (
  upload_id uuid primary key references upload (id) on delete cascade,
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid references app_user (id) on delete cascade,
  -- What the uploader states. null: nothing; the format is then found by the content.
  format text,
  agent text,
  external_session_id text,
  title text,
  repo text,
  branch text,
  commit_sha text,
  -- Progress. An attempt that follows another one reads the file again and skips the items that are stored.
  bytes_done bigint not null default 0,
  items_done bigint not null default 0,
  event_count bigint not null default 0,
  fresh_count bigint not null default 0,
  -- The session, from the first stored event on. No foreign key: it may be deleted.
  session_id uuid,
  -- Why the file could not be used.
  error_code text
);
create index coding_session_upload_organization on coding_session_upload (organization_id);
create index coding_session_upload_user on coding_session_upload (user_id) where user_id is not null;
