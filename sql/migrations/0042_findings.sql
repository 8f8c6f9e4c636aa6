-- Findings of every channel. A finding is a signal of source `qualitative_inference`, about a conversation, a feedback record or a recording.
-- Older processes go on writing signals of conversations.

alter table agent_signal
  alter column application_id drop not null,
  alter column session_id drop not null,
  alter column external_event_id drop not null,
  alter column sequence drop not null,
  alter column revision drop not null,
  add column channel text not null default 'conversation',
  add column feedback_record_id bigint,
  add column recording_id uuid,
  add column confidence real,            -- 0 to 1
  add column tier text,                  -- 'sure', 'likely' or 'model'; null: no finding, or one of an older version
  add column field text,                 -- name of the feedback field of the quotation
  add column start_sec double precision, -- start of the utterance of the quotation
  add column analyzer_name text,
  add column analyzer_version text,
  add column language text,
  add column product_area text,
  add column agent_version text,
  -- False: kept for the outcome, for themes and for measurement, but in no list, count or webhook.
  add column shown boolean not null default true;

-- No row violates these, and the look at every row comes later (0054), because it would block writes here.
alter table agent_signal
  add constraint agent_signal_feedback_record foreign key (feedback_record_id)
    references feedback_record (id) on delete cascade not valid,
  add constraint agent_signal_recording foreign key (recording_id) references recording (id) on delete cascade not valid,
  add constraint agent_signal_subject check (
    num_nonnulls(session_id, feedback_record_id, recording_id) = 1
    and (session_id is null or num_nulls(application_id, external_event_id, sequence, revision) = 0)
  ) not valid,
  add constraint agent_signal_channel check (channel in ('conversation', 'feedback', 'recording')) not valid,
  add constraint agent_signal_tier check (tier in ('sure', 'likely', 'model')) not valid;

-- What is analysed as one: a conversation, a feedback record or a recording.
create table insight_subject (
  id uuid primary key,
  organization_id uuid not null references organization (id) on delete cascade,
  channel text not null check (channel in ('conversation', 'feedback', 'recording')),
  session_id uuid unique references agent_session (id) on delete cascade,
  feedback_record_id bigint unique references feedback_record (id) on delete cascade,
  recording_id uuid unique references recording (id) on delete cascade,
  application_id uuid,                   -- of a conversation
  occurred_at timestamptz not null,
  language text,                         -- ISO 639-1; null: it cannot be told
  state text not null check (state in ('pending', 'analyzed', 'failed', 'not_supported')),
  outcome text check (outcome in ('resolved', 'unresolved', 'unclear')),
  sentiment text check (sentiment in ('positive', 'negative', 'neutral')),
  analyzer_name text not null default '', -- '': not analysed yet
  analyzer_version text not null default '',
  source_version int not null default 1, -- rises when the source changes: an analysis of an older one is not accepted
  updated_at timestamptz not null default now(),
  check (num_nonnulls(session_id, feedback_record_id, recording_id) = 1)
);
-- Re-analysis: the newest subjects of an organization that another analyser has read.
create index insight_subject_analyzer
  on insight_subject (organization_id, analyzer_name, analyzer_version, occurred_at desc, id);
create index insight_subject_occurred on insight_subject (organization_id, occurred_at desc, id);

-- What a person said about a finding. It outlives the finding: re-analysis follows it.
create table finding_verdict (
  id uuid primary key,
  organization_id uuid not null,
  subject_id uuid not null references insight_subject (id) on delete cascade,
  kind text not null,                    -- of the finding
  was_right boolean not null,
  meant_kind text,                       -- the right kind of a finding that is wrong; null: none
  analyzer_name text not null,
  analyzer_version text not null,
  tier text not null,
  language text,
  user_id uuid references app_user (id) on delete set null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (subject_id, kind),
  check (meant_kind is null or not was_right)
);
create index finding_verdict_organization on finding_verdict (organization_id, created_at desc, id);
create index finding_verdict_user on finding_verdict (user_id) where user_id is not null;

-- How often findings are right, by verdicts. The display of a kind follows from it.
create table kind_precision (
  organization_id uuid not null references organization (id) on delete cascade,
  kind text not null,
  language text not null,                -- '': it cannot be told
  analyzer_name text not null,
  analyzer_version text not null,
  tier text not null,
  judged int not null default 0,
  was_right int not null default 0,
  threshold real,                        -- the confidence from which findings are shown; null: that of the analyser
  primary key (organization_id, kind, language, analyzer_name, analyzer_version, tier)
);
