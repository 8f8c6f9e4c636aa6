-- Erasure of a person goes on in the background, where conversations and recordings name the person.

create table person_erasure (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  person_id bigint not null,             -- of the person that is gone
  public_id uuid not null,
  -- What is looked for: {email, names, recordingIds}. Null when the erasure is finished: then nothing here names the person.
  terms jsonb,
  -- How far the work is. Null before it begins and when it is finished.
  progress jsonb,
  counts jsonb not null default '{}',    -- what was erased, by kind
  requested_at timestamptz not null default now(),
  finished_at timestamptz
);
create index person_erasure_organization on person_erasure (organization_id);

-- Somebody was erased from the session: a request that stores no event changes nothing in it, so that a retry does not bring
-- the person back.
alter table agent_session add column erased_at timestamptz;
