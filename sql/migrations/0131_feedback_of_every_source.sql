--! concurrently
-- The list of the feedback records of every source by time of storage, by external id, and of a person. The index of a person names the organization, too:
-- without statistics, PostgreSQL took the one of the organization for it and read all of its records.

create index concurrently if not exists feedback_record_organization_created
  on feedback_record (organization_id, created_at desc, id desc);
create index concurrently if not exists feedback_record_organization_external
  on feedback_record (organization_id, external_id, display_ts desc, id desc) where external_id is not null;
create index concurrently if not exists feedback_record_of_person
  on feedback_record (person_id, organization_id, display_ts desc, id desc) where person_id is not null;
drop index concurrently if exists feedback_record_person_displayed;
