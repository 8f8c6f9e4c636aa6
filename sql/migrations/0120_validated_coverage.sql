-- Looks at every row, beside writes.
alter table insight_subject validate constraint insight_subject_state_check;
alter table insight_subject validate constraint insight_subject_outcome_basis_check;
alter table insight_subject validate constraint insight_subject_coverage_check;
alter table agent_session validate constraint agent_session_coverage_check;
alter table recording validate constraint recording_coverage_check;
