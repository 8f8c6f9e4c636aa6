-- Metadata definitions: sources (namespaces) and typed fields of an organization.

create table metadata_source (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  external_entity_name text not null,
  type text not null,                    -- 'api', or the provider of an integration
  managed_by text not null check (managed_by in ('customer', 'integration', 'service')),
  is_canonical_recording_source boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint metadata_source_name unique (organization_id, type, external_entity_name)
);
-- One canonical source in an organization, however many requests ask for it at once.
create unique index metadata_source_canonical on metadata_source (organization_id) where is_canonical_recording_source;
create index metadata_source_list on metadata_source (organization_id, is_canonical_recording_source desc, created_at, id);

create table metadata_field (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  source_id uuid not null references metadata_source (id) on delete cascade,
  name text not null,
  type text not null check (type in ('string', 'boolean', 'integer', 'float', 'date', 'datetime', 'json')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint metadata_field_name unique (source_id, name)
);
create index metadata_field_list on metadata_field (source_id, created_at, id);
