--! concurrently
-- Lists of signals have only those that are shown: of an organization, of an application, of a channel, and of a person, newest first.
-- Older processes use the indexes of all signals.

create index concurrently if not exists agent_signal_shown
  on agent_signal (organization_id, created_at desc, id desc) where shown;
create index concurrently if not exists agent_signal_shown_occurred
  on agent_signal (organization_id, occurred_at desc, id desc) where shown;
create index concurrently if not exists agent_signal_application_shown
  on agent_signal (application_id, created_at desc, id desc) where shown and application_id is not null;
create index concurrently if not exists agent_signal_application_shown_occurred
  on agent_signal (application_id, occurred_at desc, id desc) where shown and application_id is not null;
create index concurrently if not exists agent_signal_channel_shown
  on agent_signal (organization_id, channel, created_at desc, id desc) where shown and session_id is null;
create index concurrently if not exists agent_signal_channel_shown_occurred
  on agent_signal (organization_id, channel, occurred_at desc, id desc) where shown and session_id is null;
create index concurrently if not exists agent_signal_person_shown
  on agent_signal (person_id, occurred_at desc, id desc) where shown and person_id is not null;
