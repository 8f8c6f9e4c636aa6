-- Which messages of an actor may be in a turn: those up to this number. A worker raises it, under the lock of the row, before it reads the
-- mailbox. A sender may leave out its message only beside one with a higher number, which no turn has begun (src/actors/mailbox.ts).
-- Workers of an older version do not raise it. Beside them, a sender goes by what is in the mailbox, as before.

alter table actor_mailbox add column begun_seq bigint not null default 0;
