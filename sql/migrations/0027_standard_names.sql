-- Tables and columns take the standard terms: an actor's row is its mailbox, `last_seq` the number of its newest message; an event
-- at or below the watermark that arrived or changed late is a late event.
--
-- Processes of earlier versions go on working beside newer ones: they find the old names as views, which PostgreSQL updates like
-- tables (row locks and ON CONFLICT included). New code pays nothing for that. A later release drops the views.

-- Locks are taken in the order of everybody: domain rows, then mailboxes.
alter table agent_revisit rename to agent_late_event;
create view agent_revisit as
  select organization_id, session_id, external_event_id from agent_late_event;

alter table actor rename to actor_mailbox;
alter table actor_mailbox rename column mail to last_seq;
create view actor as
  select key, last_seq as mail, epoch, owner, organization_id from actor_mailbox;
alter view actor alter column mail set default 0;
alter view actor alter column epoch set default 0;
alter view actor alter column organization_id set default '00000000-0000-0000-0000-000000000000';
