-- Media that could not be processed, through no fault of its own, waits for an operator; and what deletes and limits of
-- uploads ask for has an index. Recordings first, and each table first for the strongest lock: in the order in which
-- processes that are at work take theirs, so that neither side has to be ended.

-- When an operator had media of a URL fetched again: from then on it has the whole time to succeed.
alter table recording
  add column asset_retried_at timestamptz;
create index recording_created_by on recording (created_by_user_id) where created_by_user_id is not null;

alter table upload
  -- Failed, but not because of the file: what came is kept until it is processed after all, replaced or deleted.
  add column bytes_kept boolean not null default false,
  add constraint upload_bytes_kept check (not bytes_kept or phase = 'failed');
create index upload_kept on upload (recording_id) where bytes_kept;

-- Also for the number of those of an organization that wait for bytes.
create index upload_organization on upload (organization_id, phase);
create index upload_user on upload (user_id) where user_id is not null;
create index upload_batch_organization on upload_batch (organization_id);
