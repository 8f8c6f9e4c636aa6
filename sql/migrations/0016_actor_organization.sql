-- Whose work a message is, so that the waiting work of one organization does not hold up that of the others. Processes of an
-- older version send without it: what they send to a new actor belongs to the nil UUID, as does the service's own work.

alter table actor add column organization_id uuid not null default '00000000-0000-0000-0000-000000000000';
alter table actor_message
  add column organization_id uuid not null default '00000000-0000-0000-0000-000000000000';

-- For the sweep by organization: which organizations have messages, and the oldest of one organization and kind.
create index actor_message_organization
  on actor_message (organization_id, (split_part(key, ':', 1) collate "C"), available_at);
