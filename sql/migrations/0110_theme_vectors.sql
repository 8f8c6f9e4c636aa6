-- The sum of the vectors of an organization's items: 257 signed integers of 32 bits, little-endian, of which the last one is their number; then zeros
-- up to 2,048 bytes. `theme.centroid` has this form too, and `theme_item.vector` has 256 bytes. Rows of the former length are made anew
-- in the background; until then they have no vector.
alter table theme_progress add column vector_sum bytea;
