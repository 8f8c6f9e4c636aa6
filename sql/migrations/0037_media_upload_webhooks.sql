-- `upload.*` events are about media of recordings. Session files of coding agents are uploads without a recording.
drop trigger webhook_upload_ended on upload;
create constraint trigger webhook_upload_ended after update of phase on upload
deferrable initially deferred
for each row when (
  new.recording_id is not null and new.phase <> old.phase and new.phase in ('ready', 'failed', 'cancelled')
)
execute function webhook_upload_ended();
