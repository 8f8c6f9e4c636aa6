-- A person whom an organization invites is no member until they accept. Statements that ask for a membership so ask for consent.

create table invitation (
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  role text not null check (role in ('viewer', 'analyst', 'administrator')),
  name text not null,                  -- what the organization calls the person
  invited_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index invitation_user on invitation (user_id);

-- When an organization last sent a person a mail. It outlasts the invitation, so that inviting again does not send mails without end.
create table invitation_mail (
  organization_id uuid not null references organization (id) on delete cascade,
  user_id uuid not null references app_user (id) on delete cascade,
  invited_at timestamptz not null,     -- of the invitation in the mail: its delivery may be repeated
  mailed_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index invitation_mail_user on invitation_mail (user_id, mailed_at);

-- A member who was added and removed at the same moment was listed as both. The tokens from before the removal stay invalid.
update membership m
set tokens_not_before = greatest(coalesce(m.tokens_not_before, f.removed_at), f.removed_at)
from former_member f
where f.organization_id = m.organization_id and f.user_id = m.user_id;

delete from former_member f
using membership m
where f.organization_id = m.organization_id and f.user_id = m.user_id;

-- Whom the organization created had no account elsewhere, and is a member. Everybody else who never acted in the organization is invited.
update membership m
set invited_name = null
from app_user u
where u.id = m.user_id and u.created_at = m.created_at and m.invited_name is not null;

with invited as (
  delete from membership
  where invited_name is not null
  returning organization_id, user_id, role, invited_name, created_at
)
insert into invitation (organization_id, user_id, role, name, invited_at)
select organization_id, user_id, role, invited_name, created_at from invited;

-- Processes of an older version still insert memberships of people who were not asked.
create function membership_needs_consent() returns trigger language plpgsql as $$
begin
  if exists (select 1 from app_user u where u.id = new.user_id and u.created_at = now()) then
    new.invited_name := null;
    return new;
  end if;
  insert into invitation (organization_id, user_id, role, name)
  values (new.organization_id, new.user_id, new.role, new.invited_name)
  on conflict do nothing;
  return null;
end $$;

create trigger membership_needs_consent before insert on membership
for each row when (new.invited_name is not null)
execute function membership_needs_consent();
