-- The version of the rules by which an event was redacted, by which an event that comes again is recognised. Null: from before it was kept.

alter table agent_event add column rules_version smallint;
alter table agent_event_revision add column rules_version smallint;
