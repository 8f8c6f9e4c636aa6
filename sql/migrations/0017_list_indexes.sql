-- Every list is read from an index that has its order: by arrival, or by the moment that a filter bounds.
-- Only indexes, and one column that a trigger fills: older processes go on as they are.

create index agent_application_list on agent_application (organization_id, created_at desc, id desc);

create index agent_signal_application on agent_signal (application_id, created_at desc, id desc);
create index agent_signal_occurred on agent_signal (organization_id, occurred_at desc, id desc);
create index agent_signal_application_occurred on agent_signal (application_id, occurred_at desc, id desc);

-- Counts a day without reading the rows of the ledger.
create index agent_usage_day on agent_usage (organization_id, application_id, unit, created_at);
drop index agent_usage_application;

create index person_created on person (organization_id, created_at desc, id desc);

create index feedback_source_created on feedback_source (organization_id, created_at desc, id desc);
create index feedback_record_created on feedback_record (feedback_source_id, created_at desc, id desc);
create index feedback_record_displayed on feedback_record (feedback_source_id, display_ts desc, id desc);
drop index feedback_record_display_ts;
create index feedback_record_person_created on feedback_record (feedback_source_id, person_id, created_at desc, id desc)
  where person_id is not null;

create index recording_started on recording (organization_id, started_at desc, id desc) where started_at is not null;

-- When its recording was created, which never changes: the order in which a folder is listed.
alter table recording_folder add column recording_created_at timestamptz;
update recording_folder filed
set recording_created_at = r.created_at
from recording r
where r.id = filed.recording_id;
create function recording_folder_order() returns trigger language plpgsql as $$
begin
  select r.created_at into new.recording_created_at from recording r where r.id = new.recording_id;
  return new;
end $$;
create trigger recording_folder_order before insert on recording_folder
  for each row execute function recording_folder_order();
create index recording_folder_list on recording_folder (folder_id, recording_created_at desc, recording_id desc);

-- A list of what was not yet merged would be searched from end to end: a burst of new words would slow down every search.
alter index transcript_search_document set (fastupdate = off);
alter index recording_display_name set (fastupdate = off);
select gin_clean_pending_list('transcript_search_document'), gin_clean_pending_list('recording_display_name');
