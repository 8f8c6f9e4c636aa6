--! concurrently
-- The findings of a feedback record and of a recording.

create index concurrently if not exists agent_signal_feedback_record on agent_signal (feedback_record_id, kind)
  where feedback_record_id is not null;
create index concurrently if not exists agent_signal_recording on agent_signal (recording_id, kind)
  where recording_id is not null;
