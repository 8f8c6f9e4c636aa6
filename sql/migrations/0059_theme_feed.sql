-- Tells the themes which subjects have other findings, and webhooks which themes are new or changed.

create function theme_findings_created() returns trigger
language plpgsql
as $$
begin
  insert into theme_change (organization_id, channel, subject_id, gone)
  select distinct organization_id, channel, coalesce(session_id::text, feedback_record_id::text, recording_id::text), false
  from created
  where source = 'qualitative_inference' and tier is not null;
  return null;
end
$$;
create trigger theme_findings_created after insert on agent_signal
referencing new table as created
for each statement execute function theme_findings_created();

create function theme_finding_updated() returns trigger
language plpgsql
as $$
begin
  insert into theme_change (organization_id, channel, subject_id, gone)
  values (
    new.organization_id, new.channel, coalesce(new.session_id::text, new.feedback_record_id::text, new.recording_id::text), false
  );
  return null;
end
$$;
create trigger theme_finding_updated after update on agent_signal
for each row when (
  new.source = 'qualitative_inference'
  and (old.kind, old.tier, old.comment, old.rating, old.occurred_at, old.language)
    is distinct from (new.kind, new.tier, new.comment, new.rating, new.occurred_at, new.language)
)
execute function theme_finding_updated();

-- Of an organization that is deleted, the themes go with it.
create function theme_findings_deleted() returns trigger
language plpgsql
as $$
begin
  insert into theme_change (organization_id, channel, subject_id, gone)
  select distinct d.organization_id, d.channel, coalesce(d.session_id::text, d.feedback_record_id::text, d.recording_id::text), true
  from deleted d
  where d.source = 'qualitative_inference'
    and d.tier is not null
    and exists (select from organization o where o.id = d.organization_id);
  return null;
end
$$;
create trigger theme_findings_deleted after delete on agent_signal
referencing old table as deleted
for each statement execute function theme_findings_deleted();

create function webhook_theme(t theme) returns jsonb
language sql stable
as $$
  select jsonb_build_object(
    'id', t.id, 'title', t.title, 'count', t.count, 'pinned', t.pinned, 'hidden', t.hidden, 'mergedInto', t.merged_into,
    'createdAt', webhook_time(t.created_at), 'path', '/v3/rest/themes/' || t.id
  )
$$;

create function webhook_theme_created() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, 'theme.created', webhook_theme(t))
    from theme t where t.id = new.id;
  end if;
  return null;
end
$$;
-- At the end of the transaction, when the theme has its members.
create constraint trigger webhook_theme_created after insert on theme
deferrable initially deferred
for each row execute function webhook_theme_created();

create function webhook_theme_changed() returns trigger
language plpgsql
as $$
begin
  if exists (select from webhook where organization_id = new.organization_id) then
    perform webhook_emit(new.organization_id, 'theme.changed', webhook_theme(new));
  end if;
  return null;
end
$$;
create trigger webhook_theme_changed after update on theme
for each row when (
  (old.title, old.pinned, old.hidden, old.merged_into) is distinct from (new.title, new.pinned, new.hidden, new.merged_into)
)
execute function webhook_theme_changed();
