-- How often a message was the head when its worker ended: what ends workers is given up sooner than what merely fails.

alter table actor_message add column deaths int not null default 0;
