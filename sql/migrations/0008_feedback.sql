-- Feedback: where it comes from, and its records.

create table feedback_source (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text not null,
  type text not null check (type in ('api')),
  created_at timestamptz not null default now()
);
create index feedback_source_list on feedback_source (organization_id, id desc);

create table feedback_record (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  feedback_source_id bigint not null references feedback_source (id) on delete cascade,
  person_id bigint references person (id) on delete cascade,
  external_id text,
  display_ts timestamptz not null,
  fields jsonb not null,                 -- [{category, type, name, value}], as they were sent
  created_at timestamptz not null default now(),
  constraint feedback_record_external_id unique (feedback_source_id, external_id)
);
create index feedback_record_list on feedback_record (feedback_source_id, id desc);
create index feedback_record_display_ts on feedback_record (feedback_source_id, display_ts);
create index feedback_record_person on feedback_record (person_id) where person_id is not null;

-- The people of an organization, newest first; and what is looked for when one of them is erased.
create index person_list on person (organization_id, id desc);
create index recording_participant_person on recording_participant (person_id);
-- A company that is named without its domain.
create index company_any_name on company (organization_id, name);
