-- Counts are folded on four levels, so that a question about areas does not read every version, and the other way round. What is folded
-- already becomes changes again.
lock table insight_count, insight_dimension;
insert into insight_count_change (
  organization_id, metric, day, channel, application_id, source, kind, rating, status, product_area, agent_version, change
)
select
  c.organization_id, c.metric, c.day, d.channel, d.application_id, d.source, d.kind, d.rating, d.status, d.product_area,
  d.agent_version, c.count
from insight_count c
join insight_dimension d on d.id = c.dimension_id
where c.detailed and c.count <> 0;
delete from insight_count;
delete from insight_dimension;
alter table insight_count
  drop constraint insight_count_pkey,
  drop column detailed,
  -- 1: with areas, 2: with versions, 3: with both; 0: with neither
  add column level smallint not null,
  add primary key (organization_id, metric, level, day, dimension_id);

-- Members who want the weekly mail. It ends with the membership.
create table weekly_mail (
  id uuid primary key,
  organization_id uuid not null,
  user_id uuid not null,
  next_at timestamptz not null,          -- when the next mail is due
  created_at timestamptz not null default now(),
  unique (organization_id, user_id),
  foreign key (organization_id, user_id) references membership (organization_id, user_id) on delete cascade
);
create index weekly_mail_due on weekly_mail (next_at);
