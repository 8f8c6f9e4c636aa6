--! concurrently
-- Search by organization.
--
-- The indexes of words held every organization's: a word that is common at one was read through for each, and what begins like it,
-- too, which no second column of such an index spares. Now each word stands behind a mark of its organization, the end of its id.
-- Two organizations with one mark only cost each other time: whose a row is is asked beside it. Places of words are not in such an
-- index, and phrases are looked for in the rows that have their words.
--
-- Older processes find the same as before; until they are replaced, their searches read all rows.
--
-- No index is added for the filters by status, processing status, environment, rating, source and kind. Statuses change while their
-- rows are in use: an index that has one makes each change write to all indexes of the row. Each other one would be written
-- for every session, signal or recording, once more for each order, and no index fits two filters at a time. Lists walk a bounded
-- number of rows for them.

create index concurrently if not exists transcript_search_words on transcript_search using gin (
  (
    regexp_replace(
      strip(document)::text,
      '''((?:[^'']|'''')*)''',
      '''' || right(organization_id::text, 12) || '\1''',
      'g'
    )::tsvector
  )
) with (fastupdate = off);

create index concurrently if not exists recording_name_words on recording using gin (
  (
    regexp_replace(
      strip(to_tsvector('simple', display_name))::text,
      '''((?:[^'']|'''')*)''',
      '''' || right(organization_id::text, 12) || '\1''',
      'g'
    )::tsvector
  )
) with (fastupdate = off) where display_name is not null;

drop index concurrently if exists transcript_search_document;
drop index concurrently if exists recording_display_name;
