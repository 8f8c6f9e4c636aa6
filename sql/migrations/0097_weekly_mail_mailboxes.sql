-- A weekly mail ends by a request, by its link and with the membership. In each case its mailbox goes with it.
create function weekly_mail_deleted() returns trigger
language plpgsql
as $$
begin
  delete from actor_mailbox where key = 'weekly_mail:' || old.id;
  delete from actor_dead_letter where key = 'weekly_mail:' || old.id;
  return null;
end
$$;
create trigger weekly_mail_deleted after delete on weekly_mail
for each row execute function weekly_mail_deleted();
