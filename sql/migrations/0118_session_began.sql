--! concurrently
-- The list of conversations has the order of when they began.

create index concurrently if not exists agent_session_began
  on agent_session (organization_id, (coalesce(started_at, created_at)) desc, id desc);
create index concurrently if not exists agent_session_application_began
  on agent_session (application_id, (coalesce(started_at, created_at)) desc, id desc);
