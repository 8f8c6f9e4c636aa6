-- How far the erasure of an organization is (src/identity/erase.store.ts), in a row of its own. A step locks this row and then objects of
-- the organization, so it must not lock the organization, which others lock after their objects. Older processes use organization.erasure_progress.

create table organization_erasure (
  organization_id uuid primary key references organization (id) on delete cascade,
  progress jsonb
);
