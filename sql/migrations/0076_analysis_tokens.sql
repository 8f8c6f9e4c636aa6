-- Tokens that an organization has used at the model server on its newest day of use, in UTC. One row an organization.

create table analysis_tokens (
  organization_id uuid primary key references organization (id) on delete cascade,
  day date not null,
  tokens bigint not null check (tokens >= 0)
);
