-- Import sources, imports of feedback and applications take their actors along, also where they are deleted by a cascade. Their mailboxes
-- would stay for ever. Arguments of the function: the kind of the actors, and the column that their keys name.

create function delete_actors_of_rows() returns trigger
language plpgsql
as $$
begin
  with mine as materialized (
    select m.key from actor_mailbox m
    where m.key in (select tg_argv[0] || ':' || (to_jsonb(r) ->> tg_argv[1]) from removed r)
    order by m.key
    for update
  )
  delete from actor_mailbox where key in (select key from mine);
  return null;
end
$$;

create trigger import_source_actors after delete on import_source referencing old table as removed
for each statement execute function delete_actors_of_rows('import-source', 'id');

create trigger feedback_import_actors after delete on feedback_import referencing old table as removed
for each statement execute function delete_actors_of_rows('feedback-import', 'upload_id');

create trigger agent_application_actors after delete on agent_application referencing old table as removed
for each statement execute function delete_actors_of_rows('trace', 'id');
