-- The same words as before in half of the time. A word begins after a space and a quotation mark, and contains no space.

create or replace function search_document(organization uuid, configuration regconfig, body text) returns tsvector
language sql immutable strict parallel safe as $$
  select coalesce(
    (
      '''' || right(organization::text, 6) || substr(
        replace(nullif(to_tsvector(configuration, body)::text, ''), ' ''', ' ''' || right(organization::text, 6)),
        2
      )
    )::tsvector,
    ''::tsvector
  )
$$;
