-- Roles of members, and the record of who read or changed what.

-- The default makes existing members administrators, and those that processes of an older version add meanwhile. Statements of
-- this version always name the role.
alter table membership
  add column role text not null default 'administrator' check (role in ('viewer', 'analyst', 'administrator'));

create table audit_entry (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  occurred_at timestamptz not null default now(),
  principal_kind text not null check (principal_kind in ('user', 'api_key', 'operator')),
  principal_id uuid,                   -- the user or the key; null: the operator at the command line
  action text not null,                -- such as `member.updated`
  object_kind text not null,           -- such as `member`
  object_id text,                      -- null: a list
  request_id text,                     -- as in the log and in `X-Request-Id`
  details jsonb not null default '{}', -- what changed; never a secret, nor what customers said
  times int not null default 1 check (times > 0) -- reads of one object by one principal within a short time share a row
);
create index audit_entry_organization on audit_entry (organization_id, occurred_at desc, id desc);
create index audit_entry_principal on audit_entry (organization_id, principal_id, occurred_at desc, id desc);
create index audit_entry_object on audit_entry (organization_id, object_id, occurred_at desc, id desc)
  where object_id is not null;
create index audit_entry_expired on audit_entry (occurred_at);
