-- Whether it is known what ended a worker. If so, the message that did has been counted (actor_message.deaths), and taking over the
-- worker's other actors counts nothing.

alter table worker add column is_accounted_for boolean not null default false;
