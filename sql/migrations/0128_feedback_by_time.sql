--! concurrently
-- The feedback of all sources of an organization, newest first.

create index concurrently if not exists feedback_record_by_time on feedback_record (organization_id, display_ts desc, id desc);
