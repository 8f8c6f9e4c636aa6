-- Objects that must go from the object store. Objects are no part of a transaction, so a key is entered here before its object
-- is put, and taken out by the transaction that publishes it: what no row shows is deleted, whoever dies when.

create table media_garbage (
  object_key text primary key,
  organization_id uuid not null,         -- no foreign key: outlives what it belonged to
  recording_id uuid not null,
  delete_after timestamptz not null      -- longer than any turn that may still put it
);
create index media_garbage_due on media_garbage (delete_after);
create index media_garbage_recording on media_garbage (recording_id);
