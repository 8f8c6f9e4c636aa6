-- Findings of every channel. A signal belongs to a session, to a feedback record, or to a recording.

alter table agent_signal
  alter column application_id drop not null,
  alter column session_id drop not null,
  alter column external_event_id drop not null,
  alter column sequence drop not null,
  alter column revision drop not null,
  add column channel text not null default 'conversation',
  add column feedback_record_id bigint,
  add column recording_id uuid,
  add column confidence real,            -- from 0 to 1; null: a signal of an older version, or explicit feedback
  add column tier text,                  -- 'sure' by rules, 'likely' by the trained head, 'model' by a model server
  add column field text,                 -- name of the feedback field that is quoted
  add column start_sec double precision, -- where in the recording the quotation is
  add column analyzer_name text,
  add column analyzer_version text,
  add column language text,              -- of the customer, ISO 639-1
  -- False: kept for outcomes and measurement, but lists, counts and webhooks leave it out, because its kind is wrong too often.
  add column shown boolean not null default true,
  add constraint agent_signal_feedback_record_id_fkey foreign key (feedback_record_id)
    references feedback_record (id) on delete cascade not valid,
  add constraint agent_signal_recording_id_fkey foreign key (recording_id)
    references recording (id) on delete cascade not valid,
  add constraint agent_signal_channel check (
    case channel
      when 'conversation' then session_id is not null and external_event_id is not null and sequence is not null
      when 'feedback' then feedback_record_id is not null
      when 'recording' then recording_id is not null
      else false
    end
  ) not valid;

-- What was analysed, and with what result. One row for each session, feedback record and recording.
create table insight_subject (
  id uuid primary key,
  organization_id uuid not null,
  channel text not null check (channel in ('conversation', 'feedback', 'recording')),
  session_id uuid references agent_session (id) on delete cascade,
  feedback_record_id bigint references feedback_record (id) on delete cascade,
  recording_id uuid references recording (id) on delete cascade,
  -- not_supported: the language is not analysed, so nothing was looked for.
  state text not null check (state in ('analyzed', 'not_supported', 'failed')),
  language text,
  outcome text check (outcome in ('resolved', 'unresolved', 'unclear')),
  sentiment text check (sentiment in ('positive', 'negative', 'neutral')),
  analyzer_name text not null,
  analyzer_version text not null,
  analyzed_at timestamptz not null default now(),
  check (num_nonnulls(session_id, feedback_record_id, recording_id) = 1)
);
create unique index insight_subject_session on insight_subject (session_id) where session_id is not null;
create unique index insight_subject_feedback_record on insight_subject (feedback_record_id) where feedback_record_id is not null;
create unique index insight_subject_recording on insight_subject (recording_id) where recording_id is not null;
-- Subjects of an older analyser, newest first.
create index insight_subject_version on insight_subject (organization_id, analyzer_name, analyzer_version, analyzed_at desc);
