--! concurrently
-- What a person said, newest first, on each channel. The indexes without the order are no longer needed.

create index concurrently if not exists feedback_record_person_displayed on feedback_record (person_id, display_ts desc, id desc)
  where person_id is not null;
drop index concurrently if exists feedback_record_person;
create index concurrently if not exists recording_participant_timeline
  on recording_participant (person_id, occurred_at desc, recording_id desc) where person_id is not null;
drop index concurrently if exists recording_participant_person;
create index concurrently if not exists agent_signal_person_said on agent_signal (person_id) where person_id is not null;
