-- Administrators list the dead letters of their own organization. Processes of an older version insert without it, so a trigger
-- takes it from the mailbox. Dead letters are few: those that are there get it at once.

alter table actor_dead_letter add column organization_id uuid;

create function actor_dead_letter_organization() returns trigger language plpgsql as $$
begin
  select m.organization_id into new.organization_id from actor_mailbox m where m.key = new.key;
  return new;
end $$;
create trigger actor_dead_letter_organization before insert on actor_dead_letter
  for each row execute function actor_dead_letter_organization();

update actor_dead_letter d set organization_id = m.organization_id from actor_mailbox m where m.key = d.key;
create index actor_dead_letter_organization on actor_dead_letter (organization_id, parked_at, key, seq);
