-- Keys that stand in web pages. Everybody can read them, so they are stored as they are. They can only send.
create table publishable_key (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  application_id uuid not null references agent_application (id) on delete cascade,
  name text not null,
  key text not null unique,
  origins text[] not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz
);
create index publishable_key_application on publishable_key (application_id);
