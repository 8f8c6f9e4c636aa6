-- The state that the object store needs to continue an upload is `resume_state`; its old name was `store_memory`. Inside it,
-- `litter` and `strays` become `orphanKeys` and `possibleOrphans`.
--
-- Processes of the version before read and write `store_memory` while this version runs beside them. Triggers copy each write
-- into the other column and translate the two names. A trigger fires only for statements that set one of the columns.
-- Compatibility lasts for this release: the first migration of the next release drops the triggers, their functions and
-- `store_memory`.

alter table upload add column resume_state jsonb;
alter table upload_garbage add column resume_state jsonb;

create function upload_resume_state_new(state jsonb) returns jsonb
language sql immutable
as $$
  select case
    when state ? 'litter' then
      state - 'litter' - 'strays' || jsonb_build_object('orphanKeys', state -> 'litter', 'possibleOrphans', state -> 'strays')
    else state
  end
$$;

create function upload_resume_state_old(state jsonb) returns jsonb
language sql immutable
as $$
  select case
    when state ? 'orphanKeys' then
      state - 'orphanKeys' - 'possibleOrphans' || jsonb_build_object('litter', state -> 'orphanKeys', 'strays', state -> 'possibleOrphans')
    else state
  end
$$;

create function upload_resume_state_sync() returns trigger
language plpgsql
as $$
begin
  if tg_op = 'INSERT' then
    if new.resume_state is not null then
      new.store_memory := upload_resume_state_old(new.resume_state);
    else
      new.resume_state := upload_resume_state_new(new.store_memory);
    end if;
  elsif new.resume_state is distinct from old.resume_state then
    new.store_memory := upload_resume_state_old(new.resume_state);
  elsif new.store_memory is distinct from old.store_memory then
    new.resume_state := upload_resume_state_new(new.store_memory);
  end if;
  return new;
end
$$;

create trigger upload_resume_state_inserted before insert on upload
for each row when (new.resume_state is not null or new.store_memory is not null)
execute function upload_resume_state_sync();
create trigger upload_resume_state_updated before update of resume_state, store_memory on upload
for each row execute function upload_resume_state_sync();

create trigger upload_resume_state_inserted before insert on upload_garbage
for each row when (new.resume_state is not null or new.store_memory is not null)
execute function upload_resume_state_sync();
create trigger upload_resume_state_updated before update of resume_state, store_memory on upload_garbage
for each row execute function upload_resume_state_sync();

-- Only an upload that waits, is processed or keeps its bytes is read again.
update upload
set resume_state = upload_resume_state_new(store_memory)
where store_memory is not null
  and (phase in ('waiting', 'processing', 'encoding') or bytes_kept);
update upload_garbage
set resume_state = upload_resume_state_new(store_memory)
where store_memory is not null;
