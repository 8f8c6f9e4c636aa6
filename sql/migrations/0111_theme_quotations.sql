-- The title of a theme may be a quotation. `words` are what its items have in common, `quoted_id` is the finding that the title quotes.
alter table theme add column words text;
alter table theme add column quoted_id uuid;

-- Whether every member of the organization may see where the finding was said: feedback, and applications that are open to all. Recordings move between
-- folders, and are never quoted.
create function theme_quotable(g agent_signal) returns boolean
language sql stable
as $$
  select g.feedback_record_id is not null or exists (
    select
    from agent_application a
    join agent_application_settings s on s.application_id = a.id and s.version = a.settings_version
    where a.id = g.application_id
      and a.organization_id = g.organization_id
      and s.settings #>> '{conversationAccess,type}' = 'workspace'
  )
$$;

-- Whether the title may still be shown. A quotation that is gone, or that not everybody may see any more, is replaced by the words at once.
create function theme_title_holds(t theme) returns boolean
language sql stable
as $$
  select t.title_by = 'person' or t.quoted_id is null or exists (
    select from agent_signal g
    where g.organization_id = t.organization_id and g.id = t.quoted_id and g.comment is not null and theme_quotable(g)
  )
$$;

create function theme_title(t theme) returns text
language sql stable
as $$
  select case when theme_title_holds(t) then t.title else coalesce(t.words, '…') end
$$;

create or replace function webhook_theme(t theme) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', t.id, 'title', theme_title(t), 'count', t.count, 'pinned', t.pinned, 'hidden', t.hidden, 'mergedInto', t.merged_into,
    'createdAt', webhook_time(t.created_at), 'path', '/v3/rest/themes/' || t.id
  )
$$;
