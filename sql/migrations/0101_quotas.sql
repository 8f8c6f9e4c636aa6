-- What quotas limit: the events of conversations, and the bytes of media. Both are counted by organization in the tables of 0100.

-- Null: as the settings say. -1: no limit.
alter table organization add column quota_media_bytes bigint check (quota_media_bytes >= -1);
alter table organization add column quota_events bigint check (quota_events >= -1);

-- Null: stored before this migration, and counted once `events_counted` of its session is true, which a data change sets.
alter table agent_event add column counted boolean;
alter table agent_event alter column counted set default true;
alter table agent_session add column events_counted boolean;
alter table agent_session alter column events_counted set default true;

create function count_events_added() returns trigger language plpgsql as $$
begin
  insert into usage_change (organization_id, metric, application_id, hour, change)
  select r.organization_id, 'events', '00000000-0000-0000-0000-000000000000', '-infinity', count(*)
  from added r
  group by 1;
  return null;
end
$$;
create trigger count_events_added after insert on agent_event referencing new table as added
  for each statement execute function count_events_added();

-- The row of a session goes after its events, in the same transaction and under its lock.
create function count_events_removed() returns trigger language plpgsql as $$
begin
  insert into usage_change (organization_id, metric, application_id, hour, change)
  select r.organization_id, 'events', '00000000-0000-0000-0000-000000000000', '-infinity', -count(*)
  from removed r
  left join agent_session s on r.counted is null and s.organization_id = r.organization_id and s.id = r.session_id
  where coalesce(r.counted, s.events_counted)
  group by 1;
  return null;
end
$$;
create trigger count_events_removed after delete on agent_event referencing old table as removed
  for each statement execute function count_events_removed();

-- Media of a recording: the file that is played, and the original if another one is played.
alter table recording add column asset_source_bytes bigint;
-- Null: not counted yet. A data change sets it, and the trigger counts the row.
alter table recording add column media_counted boolean;
alter table recording alter column media_counted set default true;
alter table upload add column media_counted boolean;
alter table upload alter column media_counted set default true;

create function media_bytes(r recording) returns bigint language sql immutable as $$
  select case when r.media_counted and r.asset_object_key is not null
    then coalesce(r.asset_file_size, 0) + coalesce(r.asset_source_bytes, 0) else 0 end
$$;
-- An upload takes its whole size from the start, so that what has begun can end. A size that no store takes counts as a petabyte, so that no sum
-- of many uploads leaves the range of its type.
create function media_bytes(u upload) returns bigint language sql immutable as $$
  select case when u.media_counted and (u.phase in ('waiting', 'processing', 'encoding') or u.bytes_kept)
    then least(u.file_size, 1125899906842624) else 0 end
$$;

create function count_media() returns trigger language plpgsql as $$
declare
  organization uuid;
  change bigint := 0;
begin
  if tg_op <> 'INSERT' then
    organization := old.organization_id;
    change := change - media_bytes(old);
  end if;
  if tg_op <> 'DELETE' then
    organization := new.organization_id;
    change := change + media_bytes(new);
  end if;
  if change <> 0 then
    insert into usage_change (organization_id, metric, application_id, hour, change)
    values (organization, 'media_bytes', '00000000-0000-0000-0000-000000000000', '-infinity', change);
  end if;
  return null;
end
$$;
create trigger count_media_added after insert or delete on recording
  for each row execute function count_media();
create trigger count_media_changed
  after update of asset_object_key, asset_file_size, asset_source_bytes, media_counted on recording
  for each row execute function count_media();
create trigger count_media_added after insert or delete on upload
  for each row execute function count_media();
create trigger count_media_changed after update of phase, bytes_kept, file_size, media_counted on upload
  for each row execute function count_media();

create index usage_count_whole on usage_count (metric, organization_id) where hour = '-infinity';
