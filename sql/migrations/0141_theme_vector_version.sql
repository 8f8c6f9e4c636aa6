-- Which version of the vectors an item has: a data change has those of an earlier version made anew. Before, their length told.
alter table theme_item add column vector_version smallint not null default 1;
