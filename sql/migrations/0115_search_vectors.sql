-- The search by meaning: a vector for each passage, and the nearest of 512 centroids (src/analyze/builtin/vectors/centroids.zst), its cell. A search reads
-- the vectors of the nearest cells. The index has the vectors, too, because those of a cell are spread over the table.
-- 256 signed bytes: the direction of the text's vector from the mean of customers' texts, times 127.

create table search_vector (
  passage_id bigint primary key references search_passage (id) on delete cascade,
  organization_id uuid not null,
  cell smallint not null,
  vector bytea not null
);
create index search_vector_cell on search_vector (organization_id, cell, passage_id desc) include (vector);
