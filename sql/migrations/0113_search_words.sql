-- The words by which recordings are found by name, and people by name and address, in the normal form of `src/platform/text/words.rules.ts`. Null: not
-- computed yet. Then the text itself is searched.

alter table recording add column name_words text;
alter table person add column search_words text;

-- A writer that sets the text and not its words leaves none.
create function forget_name_words() returns trigger
language plpgsql
as $$
begin
  new.name_words := null;
  return new;
end
$$;
create trigger recording_name_words
  before update of display_name on recording
  for each row when (new.display_name is distinct from old.display_name and new.name_words is not distinct from old.name_words)
  execute function forget_name_words();

create function forget_search_words() returns trigger
language plpgsql
as $$
begin
  new.search_words := null;
  return new;
end
$$;
create trigger person_search_words
  before update of first_name, last_name, email on person
  for each row when (
    (new.first_name, new.last_name, new.email) is distinct from (old.first_name, old.last_name, old.email)
    and new.search_words is not distinct from old.search_words
  )
  execute function forget_search_words();

-- Every two and three characters side by side, and the first one of each word behind a space; behind a mark of the organization. So an index of arrays
-- finds parts of words without an extension, and no part reads rows of another organization.
create function person_grams(organization uuid, words text) returns text[]
language sql immutable strict parallel safe as $$
  select array_agg(distinct right(organization::text, 6) || substr(' ' || words, place, size))
  from generate_series(1, length(words)) place
  cross join (values (2), (3)) as sizes (size)
$$;
