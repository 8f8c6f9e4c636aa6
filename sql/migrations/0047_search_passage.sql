-- Search over what was said on every channel: one row for each message, field of a feedback record, or minute of speech.
--
-- A row has the words of its text, not the text. Each word stands behind a mark of its organization, the end of its id. So one index
-- of words serves every organization without an extension, and neither a common word nor a prefix reads rows of another organization. Two
-- organizations with one mark only cost each other time: the organization is compared beside it.

create table search_passage (
  id bigint generated always as identity primary key,
  organization_id uuid not null,
  -- Of a message. The access to its conversation follows from the application.
  application_id uuid,
  session_id uuid references agent_session (id) on delete cascade,
  external_event_id text,
  -- Of a field of a feedback record; `place` is its position among the fields, from 0.
  feedback_record_id bigint references feedback_record (id) on delete cascade,
  -- Of speech; `place` and `last_place` are the ordinals of its first and last utterance.
  recording_id uuid references recording (id) on delete cascade,
  place int,
  last_place int,
  start_sec double precision,
  is_customer boolean not null,
  occurred_at timestamptz not null,
  -- The text search configuration of `document`.
  configuration text not null,
  document tsvector not null,
  check (num_nonnulls(session_id, feedback_record_id, recording_id) = 1)
);
create unique index search_passage_message on search_passage (session_id, external_event_id) where session_id is not null;
create unique index search_passage_field on search_passage (feedback_record_id, place) where feedback_record_id is not null;
create unique index search_passage_speech on search_passage (recording_id, place) where recording_id is not null;
-- A list of words that are not merged yet would be searched from end to end.
create index search_passage_words on search_passage using gin (document) with (fastupdate = off);

-- The text search configurations that an organization has passages in. A search asks in each of them.
create table search_configuration (
  organization_id uuid not null references organization (id) on delete cascade,
  configuration text not null,
  primary key (organization_id, configuration)
);

-- The words of a text behind the mark of the organization. A tsvector's text has its words in quotation marks; those in a word are doubled.
create function search_document(organization uuid, configuration regconfig, body text) returns tsvector
language sql immutable strict parallel safe as $$
  select regexp_replace(
    to_tsvector(configuration, body)::text,
    '''((?:[^'']|'''')*)''',
    '''' || right(organization::text, 6) || '\1''',
    'g'
  )::tsvector
$$;
