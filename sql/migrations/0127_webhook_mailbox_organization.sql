-- A message of a webhook tells the mailbox its organization, as every other send does (src/actors/mailbox.ts): a mailbox that did not know it kept
-- none, and its turns were shared out as those of no organization.

create or replace function webhook_number() returns trigger
language plpgsql
as $$
declare
  mine record;
  before bigint;
  receiver record;
  message bigint;
begin
  if not exists (select from webhook_event where id = new.id and seq is null) then
    return null;
  end if;
  -- Events of other transactions are invisible or have their number.
  for mine in
    select organization_id, count(*) as events from webhook_event where seq is null
    group by organization_id order by organization_id
  loop
    update webhook_stream set last_seq = last_seq + mine.events
    where organization_id = mine.organization_id
    returning last_seq - mine.events into before;
    update webhook_event e set seq = before + n.number
    from (
      select id, row_number() over (order by position) as number from webhook_event
      where organization_id = mine.organization_id and seq is null
    ) n
    where e.id = n.id;
    for receiver in
      select w.id from webhook w
      where w.organization_id = mine.organization_id
        and w.enabled
        and exists (
          select from webhook_event e
          where e.organization_id = mine.organization_id and e.seq > before and e.webhook_id is null
            and (w.types @> array['*'] or w.types @> array[e.type])
        )
        -- A waiting message has not been read yet: its turn ends under the lock of the stream.
        and not exists (select from actor_message m where m.key = 'webhook:' || w.id and m.type = 'deliver')
      order by w.id
    loop
      insert into actor_mailbox (key, last_seq, organization_id)
      values ('webhook:' || receiver.id, 1, mine.organization_id)
      on conflict (key) do update set
        last_seq = actor_mailbox.last_seq + 1,
        organization_id = greatest(actor_mailbox.organization_id, excluded.organization_id)
      returning last_seq into message;
      insert into actor_message (key, seq, type, organization_id)
      values ('webhook:' || receiver.id, message, 'deliver', mine.organization_id);
      perform pg_notify(
        'actors_outbound', 'webhook:' || receiver.id || ' ' || message || ' deliver ' || mine.organization_id || chr(10)
      );
    end loop;
  end loop;
  return null;
end
$$;
