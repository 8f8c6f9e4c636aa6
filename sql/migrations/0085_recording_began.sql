--! concurrently
-- A list of recordings with a period has the order of when they began; without a known start, of when they were created.

create index concurrently if not exists recording_began
  on recording (organization_id, (coalesce(started_at, created_at)) desc, id desc);
