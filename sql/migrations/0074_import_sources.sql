-- Help desks whose conversations are read page by page into an application. The actor of a source reads where `position` says.
create table import_source (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  application_id uuid not null references agent_application (id) on delete cascade,
  provider text not null,
  url text not null,
  account text,
  secret bytea not null,                 -- sealed
  environment text,
  since timestamptz not null,
  every_minutes int not null,
  -- {cursor, done}: the provider's cursor, and what was stored already of the page that begins there. null: nothing was read yet.
  position jsonb,
  conversations bigint not null default 0,
  messages bigint not null default 0,
  refused bigint not null default 0,
  -- When the next turn may read; a pause that the provider asked for ends earlier for nobody.
  due_at timestamptz not null default now(),
  paused_until timestamptz,
  read_at timestamptz,
  caught_up_at timestamptz,
  failures int not null default 0,       -- in a row
  error_code text,
  failed_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index import_source_organization on import_source (organization_id, created_at);
create index import_source_application on import_source (application_id, created_at);
create index import_source_due on import_source (due_at);
