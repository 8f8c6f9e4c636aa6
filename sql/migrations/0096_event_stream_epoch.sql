-- Names the history that this database has: the server, its timeline and the database. A failover that loses commits begins a new timeline, and so does
-- a restored backup; their streams use numbers again. So the ids of events contain this name (src/event-stream/log.store.ts).
create function event_stream_epoch() returns text
language plpgsql stable
as $$
declare
  epoch text := (select oid::text from pg_database where datname = current_database());
begin
  -- The first eight digits are the timeline. pg_control_checkpoint() tells it only after the first checkpoint of a new primary.
  begin
    epoch := epoch || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8);
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
  begin
    epoch := epoch || ' ' || (select system_identifier from pg_control_system());
  exception when insufficient_privilege or undefined_function or feature_not_supported then
    null;
  end;
  return epoch;
end
$$;
