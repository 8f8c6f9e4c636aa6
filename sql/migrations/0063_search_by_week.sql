--! concurrently
-- The index of words also has the week of each passage, behind the mark of the organization. So a search for a common word reads the pages
-- of its newest weeks only. Older processes ask for words alone, which the same index answers.

create index concurrently if not exists search_passage_words_by_week
  on search_passage using gin (
    document,
    (array[right(organization_id::text, 6) || (((occurred_at at time zone 'UTC')::date - date '2000-01-03') / 7)::text])
  ) with (fastupdate = off);
drop index concurrently if exists search_passage_words;
