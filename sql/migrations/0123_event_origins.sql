-- The record that an event of a coding session begins with. Models and relays give ids again; another origin is another event.
-- Null: the event was stored before, or its id says enough.
alter table coding_session_event
add column origin uuid;
