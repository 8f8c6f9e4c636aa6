-- The organization of `earshot demo`. Commands that look for the only organization do not count it.

alter table organization add column is_demo boolean not null default false;
