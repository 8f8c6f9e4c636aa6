-- What an organization uses: units of its agents by hour, and (0101) what its quotas limit.
--
-- Every change of a row adds a row to `usage_change` in the same transaction, so no transaction waits for another. A job adds these
-- changes to `usage_count`. A count is the sum of both.

create table usage_change (
  organization_id uuid not null,
  metric text not null,                  -- the unit of the ledger, or what a quota limits
  application_id uuid not null,          -- zeros: of the whole organization
  hour timestamptz not null,             -- -infinity: at any time
  change bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
create index usage_change_organization on usage_change (organization_id, metric, application_id, hour);

create table usage_count (
  organization_id uuid not null references organization (id) on delete cascade,
  metric text not null,
  application_id uuid not null,
  hour timestamptz not null,
  count bigint not null,
  primary key (organization_id, metric, application_id, hour)
);

-- Null: stored before this migration. The ledger only grows, and its rows never change.
alter table agent_usage add column counted boolean;
alter table agent_usage alter column counted set default true;
-- True: the older rows of the ledger are counted as well. A data change does it.
alter table agent_application add column usage_counted boolean;
alter table agent_application alter column usage_counted set default true;

create function count_units() returns trigger language plpgsql as $$
begin
  insert into usage_change (organization_id, metric, application_id, hour, change)
  select r.organization_id, r.unit, r.application_id, date_trunc('hour', r.created_at, 'UTC'), count(*)
  from added r
  group by 1, 2, 3, 4;
  return null;
end
$$;
create trigger count_units after insert on agent_usage referencing new table as added
  for each statement execute function count_units();
