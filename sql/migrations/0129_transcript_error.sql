-- Why no transcript could be made, while it is `failed`. Null: unknown, as of those that failed before.

alter table recording add column transcript_error_code text
  check (transcript_error_code in ('audio_unreadable', 'transcriber_refused', 'transcriber_failed'));
