--! concurrently
-- Recordings by the words of their name, and people by parts of theirs. Older processes find the same as before; until they are replaced, their searches
-- for names of recordings read all rows.

create index concurrently if not exists recording_name_search on recording using gin (
  (
    regexp_replace(
      strip(to_tsvector('simple', coalesce(name_words, display_name)))::text,
      '''((?:[^'']|'''')*)''',
      '''' || right(organization_id::text, 12) || '\1''',
      'g'
    )::tsvector
  )
) with (fastupdate = off) where display_name is not null;
drop index concurrently if exists recording_name_words;

create index concurrently if not exists person_search on person using gin (person_grams(organization_id, search_words))
  with (fastupdate = off) where search_words is not null;
create index concurrently if not exists person_unsearched on person (organization_id, id) where search_words is null;
