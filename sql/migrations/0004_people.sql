-- People and their companies: the customers whose feedback and recordings come in. Not users of this service.

create table company (
  id bigint generated always as identity primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  name text,
  domain text,                           -- lower case; identifies the company where it is known
  created_at timestamptz not null default now()
);
create unique index company_domain on company (organization_id, domain) where domain is not null;
create unique index company_name on company (organization_id, name) where domain is null;

create table person (
  id bigint generated always as identity primary key,   -- the id of the feedback interface
  public_id uuid not null unique,                       -- the id everywhere else
  organization_id uuid not null references organization (id) on delete cascade,
  email text,
  first_name text,
  last_name text,
  boundary text not null default 'external' check (boundary in ('external', 'internal')),
  company_id bigint references company (id),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index person_email on person (organization_id, lower(email)) where email is not null;
