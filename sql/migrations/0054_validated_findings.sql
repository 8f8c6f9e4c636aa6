-- Looks at every row for the constraints of 0042, without blocking writes.
alter table agent_signal
  validate constraint agent_signal_feedback_record,
  validate constraint agent_signal_recording,
  validate constraint agent_signal_subject,
  validate constraint agent_signal_channel,
  validate constraint agent_signal_tier;
