--! concurrently
-- A subject has one finding of each kind.

create unique index concurrently if not exists agent_signal_session_finding on agent_signal (session_id, kind) where tier is not null;
create unique index concurrently if not exists agent_signal_feedback_finding on agent_signal (feedback_record_id, kind)
  where feedback_record_id is not null;
create unique index concurrently if not exists agent_signal_recording_finding on agent_signal (recording_id, kind)
  where recording_id is not null;
