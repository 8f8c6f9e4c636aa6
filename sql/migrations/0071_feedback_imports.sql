-- Files whose rows become feedback records. They come by the same uploads as media, but belong to no recording.
create table feedback_import (
  upload_id uuid primary key references upload (id) on delete cascade,
  organization_id uuid not null references organization (id) on delete cascade,
  feedback_source_id bigint not null references feedback_source (id) on delete cascade,
  delimiter text,
  -- The head of the file, once it was read; the first rows until the file is used, or was given up.
  header jsonb,
  sample jsonb,
  -- The hash of all bytes, by which a file that was imported before is recognised.
  digest bytea,
  suggestion jsonb,
  -- What each column means. null: nobody has said so yet.
  mapping jsonb,
  -- Progress. An attempt that follows another one skips the rows that are done.
  bytes_done bigint not null default 0,
  rows_done bigint not null default 0,
  imported bigint not null default 0,
  duplicates bigint not null default 0,
  refused bigint not null default 0,
  refused_kept bigint not null default 0,
  refused_kept_bytes bigint not null default 0,
  error_code text,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  ended_at timestamptz,
  -- When the words of customers that are kept here are deleted.
  forget_after timestamptz default now() + interval '7 days'
);
create index feedback_import_source on feedback_import (feedback_source_id, created_at desc);
create index feedback_import_organization on feedback_import (organization_id);
create index feedback_import_forget on feedback_import (forget_after) where forget_after is not null;

-- Rows that were refused, with the reason.
create table feedback_import_refusal (
  upload_id uuid not null references feedback_import (upload_id) on delete cascade,
  position bigint not null,
  organization_id uuid not null references organization (id) on delete cascade,
  line bigint not null,
  reason text not null,
  -- The cells as text; null where they could not be read or are too long.
  cells jsonb,
  primary key (upload_id, position)
);
create index feedback_import_refusal_organization on feedback_import_refusal (organization_id);
